/**
 * Reads JSON request bodies within limits. Counts the bytes as they arrive, because `Content-Length`
 * may be wrong. Rejects values that JavaScript would alter, e.g. 9007199254740993.
 */

import { Buffer } from 'node:buffer';
import type { MiddlewareHandler } from 'hono';
import type { AppEnv } from '../app-env.ts';
import {
  ApiError,
  formatField,
  formatPath,
  MAX_PROBLEMS,
  type Problem,
  validationError,
} from './errors.ts';
import { addHint, findValueHint } from './hints.ts';
import { findRepeatedNames, parseNumbersAsText } from './json-text.ts';
import { mergeRepeated } from './repeated-header.ts';

export const MAX_BODY_BYTES = 256 * 1024;
const MAX_BODY_DEPTH = 64;
const SEND_A_BATCH =
  'Send two or more events as {"events": […]} to /api/public/events/ingest/batch.';
const UNSUPPORTED = 'unsupported_media_type';
/**
 * Maximum size of a rejected body that is still read to its end. For a larger body, the connection is
 * closed.
 */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;

type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

type BodyOptions = {
  maxBytes?: number;
  /** Number of levels around a resource. The resource itself may have `MAX_BODY_DEPTH` levels. */
  extraDepth?: number;
  /**
   * Paths that may be logged, longest first. The names below them are not logged, because callers
   * choose those.
   */
  loggedFields?: readonly string[];
};

/**
 * Makes the middleware that reads the body as a JSON object. Handlers get the object from
 * `c.req.valid('json')`. Throws 415 for another media type, and 413 for a body that is too large.
 * Throws 400 `validation_error` for a body that is not UTF-8, is not a JSON object, is nested too
 * deeply, or contains a value that JavaScript would alter.
 */
export function jsonObject({
  maxBytes = MAX_BODY_BYTES,
  extraDepth = 0,
  loggedFields = [],
}: BodyOptions = {}): MiddlewareHandler<AppEnv, string, { out: { json: JsonObject } }> {
  const maxDepth = MAX_BODY_DEPTH + extraDepth;
  return async function jsonObject(c, next) {
    const { headers } = c.req.raw;
    // Parameters are ignored, and no content coding is decoded (RFC 9110 sections 8.3 and 8.4).
    const [mediaType = ''] = mergeRepeated(headers.get('Content-Type') ?? '').split(';');
    if (mediaType.trim().toLowerCase() !== 'application/json') {
      throw new ApiError(UNSUPPORTED, 'Send the body as Content-Type: application/json.');
    }
    const coding = mergeRepeated(headers.get('Content-Encoding') ?? 'identity');
    if (coding.trim().toLowerCase() !== 'identity') {
      throw new ApiError(UNSUPPORTED, 'Send the body without a Content-Encoding.', {
        headers: { 'Accept-Encoding': 'identity' },
      });
    }
    const text = decode(await readBytes(c.req.raw, maxBytes));
    if (text === '') throw unreadable('The body is empty.');
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch (error) {
      const reason = error instanceof Error ? error.message : error;
      throw unreadable(`The body is not well-formed JSON: ${reason}.`, error);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const isList = Array.isArray(value) && value.length > 0;
      const hint = isList ? SEND_A_BATCH : findValueHint({ expected: 'object', input: value });
      throw unreadable(addHint('The body must be a JSON object.', hint));
    }
    const problems = findLimitProblems(value, { maxDepth, loggedFields, text });
    if (problems.length > 0) throw validationError(problems);
    const repeated = findRepeatedNames(text).slice(0, MAX_PROBLEMS);
    if (repeated.length > 0) {
      throw unreadable(`A name occurs twice in one object: ${JSON.stringify(repeated)}.`);
    }
    c.req.addValidatedData('json', value);
    await next();
  };
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', `The body may have at most ${maxBytes} bytes.`);
}

async function readBytes({ headers, body }: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(headers.get('Content-Length'));
  // A client with `Expect` waits for permission before it sends the body (RFC 9110 section 10.1.1).
  const isNotSentYet = headers.has('Expect');
  if (declared > (isNotSentYet ? maxBytes : MAX_DROPPED_BYTES)) throw tooLarge(maxBytes);
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      // Reads on past the limit, because a closed connection loses the response (RFC 9112 section 9.6).
      if (size <= maxBytes) chunks.push(value);
      else if (size > MAX_DROPPED_BYTES) break;
    }
  } catch (error) {
    throw unreadable('The body ended too early.', error);
  }
  if (size > maxBytes) {
    await reader.cancel();
    throw tooLarge(maxBytes);
  }
  return Buffer.concat(chunks);
}

/** Decodes UTF-8, and drops a byte order mark (RFC 8259 section 8.1). */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (error) {
    throw unreadable('The body is not UTF-8 text.', error);
  }
}

function unreadable(message: string, cause?: unknown): ApiError {
  return validationError([{ path: '', message }], { cause });
}

/** Makes a problem. Only the logged part of its path is logged, e.g. `payload` for `payload.items.0.id`. */
function makeProblem(path: Path, message: string, loggedFields: readonly string[]): Problem {
  const fieldPath = `${formatField(path)}.`;
  const field = loggedFields.find((loggedField) => fieldPath.startsWith(`${loggedField}.`));
  return { path: formatPath(path), message, ...(field && { field }) };
}

type Path = readonly (string | number)[];

type Limits = {
  maxDepth: number;
  loggedFields: readonly string[];
  /** The body as it was sent. */
  text: string;
  /** The body with its numbers as text; undefined until a message quotes a number. */
  bodyWithNumbersAsText?: unknown;
};

/** Returns the first `MAX_PROBLEMS` problems, in the order of the body. `path` is the path of `container`. */
function findLimitProblems(
  container: JsonValue[] | JsonObject,
  limits: Limits,
  path: (string | number)[] = [],
  problems: Problem[] = [],
): Problem[] {
  const entries = Array.isArray(container) ? container.entries() : Object.entries(container);
  for (const [name, value] of entries) {
    if (problems.length >= MAX_PROBLEMS) break;
    path.push(name);
    const isContainer = typeof value === 'object' && value !== null;
    const message =
      isContainer && path.length >= limits.maxDepth
        ? `is nested deeper than ${MAX_BODY_DEPTH} levels`
        : findBrokenLimit(path, value, limits);
    if (message !== undefined) problems.push(makeProblem(path, message, limits.loggedFields));
    else if (isContainer) findLimitProblems(value, limits, path, problems);
    path.pop();
  }
  return problems;
}

/** Returns a message if a value or its name exceeds a limit. */
function findBrokenLimit(path: Path, value: JsonValue, limits: Limits): string | undefined {
  const name = path.at(-1);
  if (name === '__proto__') return 'is a name that must not be used';
  if (typeof name === 'string' && !name.isWellFormed()) {
    return 'is a name with half of a surrogate pair';
  }
  if (typeof value === 'string' && !value.isWellFormed()) {
    return 'must not contain half of a surrogate pair';
  }
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value)) return `${readNumber(path, limits)} is out of range.`;
  // Beyond ±(2^53−1), `JSON.parse` may have rounded an integer.
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return undefined;
  return `${readNumber(path, limits)} has too many digits: JSON readers would store another number. Send at most 15 digits, or text if the field accepts it.`;
}

/** Returns a number as it was sent, truncated after 40 characters. */
function readNumber(path: Path, limits: Limits): string {
  limits.bodyWithNumbersAsText ??= parseNumbersAsText(limits.text);
  const sent = String(
    path.reduce((parent, name) => Reflect.get(Object(parent), name), limits.bodyWithNumbersAsText),
  );
  return sent.length > 40 ? `${sent.slice(0, 40)}…` : sent;
}
