/**
 * Reads a JSON request body within bounds. The bytes are counted as they arrive: `Content-Length` is
 * only a hint, since it may lie or be missing. JavaScript must be able to read the body unaltered, and
 * RFC 8785 to write it.
 */

import type { MiddlewareHandler } from 'hono';
import type { AppEnv } from '../config.ts';
import {
  ApiError,
  MAX_PROBLEMS,
  type PathSegment,
  type Problem,
  pathOf,
  validationError,
} from './errors.ts';

/** A longer body is a 413. */
export const MAX_BODY_BYTES = 256 * 1024;
/** The rest of a body that is too large is read and dropped up to here; then its sender is cut off. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;

/**
 * Reads the body as a JSON object. The checks run in this order, and the first that fails answers:
 * media type (415), size (413), then as 400 `validation_error` UTF-8, JSON, being an object, and
 * limits, with every place that breaks a limit.
 */
export async function readJsonObject(request: Request): Promise<JsonObject> {
  requireJson(request.headers);
  const value = parse(decode(await readBytes(request)));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw unreadable('The body must be a JSON object.');
  }
  const [first, ...rest] = limitProblemsOf(value);
  if (first !== undefined) throw validationError([first, ...rest]);
  return value;
}

/**
 * Reads the body as `readJsonObject` does, for `c.req.valid('json')`. `Parts` are the types of what a
 * caller sends, for Hono's client: the handler validates the body and reads the headers itself.
 */
export function jsonObject<Parts extends { json: object }>(): MiddlewareHandler<
  AppEnv,
  string,
  { in: Parts; out: { json: JsonObject } }
> {
  return async function jsonObject(c, next) {
    c.req.addValidatedData('json', await readJsonObject(c.req.raw));
    await next();
  };
}

/** 413 `payload_too_large`. */
export function bodyTooLarge(): ApiError {
  return new ApiError('payload_too_large', `The body may have at most ${MAX_BODY_BYTES} bytes.`);
}

/** 415 `unsupported_media_type`, for another content type or none. */
export function notJson(): ApiError {
  return new ApiError('unsupported_media_type', 'Send the body as Content-Type: application/json.');
}

/** Ignores parameters of the media type, and undoes no coding (RFC 9110 sections 8.3 and 8.4). */
function requireJson(headers: Headers): void {
  const [mediaType = ''] = (headers.get('Content-Type') ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json') throw notJson();
  const coding = (headers.get('Content-Encoding') ?? 'identity').trim().toLowerCase();
  if (coding !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
}

async function readBytes({ headers, body }: Request): Promise<Uint8Array> {
  const declared = Number(headers.get('Content-Length'));
  // Such a client sends its body only when it is asked for it (RFC 9110 section 10.1.1).
  const isToCome = headers.has('Expect');
  if (declared > (isToCome ? MAX_BODY_BYTES : MAX_DROPPED_BYTES)) throw bodyTooLarge();
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await readChunk(reader);
    if (done) return joined(chunks, size);
    size += value.length;
    if (size > MAX_BODY_BYTES) {
      await dropRest(reader);
      throw bodyTooLarge();
    }
    chunks.push(value);
  }
}

/** Keeps the connection: a client that is cut off while it sends loses the answer (RFC 9112 section 9.6). */
async function dropRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let left = MAX_DROPPED_BYTES;
  while (left > 0) {
    const { done, value } = await readChunk(reader);
    if (done) return;
    left -= value.length;
  }
  await reader.cancel();
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

async function readChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (error) {
    throw unreadable('The body broke off before its end.', error);
  }
}

/** Drops a byte order mark at the start, as RFC 8259 section 8.1 allows. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (error) {
    throw unreadable('The body is not UTF-8 text.', error);
  }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable('The body is not well-formed JSON.', error);
  }
}

/** Names a problem of the body as a whole. */
function unreadable(message: string, cause?: unknown): ApiError {
  return validationError([{ path: '', message }], { cause });
}

/** A result of `JSON.parse`. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/** Levels of nesting. The body itself is the first. */
const MAX_DEPTH = 64;

/** Returns the problems of a body in the order of the document, at most `MAX_PROBLEMS`. */
export function limitProblemsOf(body: JsonValue): Problem[] {
  const problems: Problem[] = [];
  const path: PathSegment[] = [];
  const report = (message: string) => {
    if (problems.length < MAX_PROBLEMS) problems.push({ path: pathOf(path), message });
  };

  const visit = (value: JsonValue, depth: number): void => {
    if (problems.length >= MAX_PROBLEMS) return;
    if (typeof value === 'string') {
      if (!value.isWellFormed()) report('must not contain half of a surrogate pair');
    } else if (typeof value === 'number') {
      if (!canBeHeld(value)) report('is a number that JavaScript cannot hold; send it as a string');
    } else if (typeof value === 'object' && value !== null) {
      if (depth > MAX_DEPTH) report(`is nested deeper than ${MAX_DEPTH} levels`);
      else visitAll(value, depth);
    }
  };
  const visitAll = (value: JsonValue[] | JsonObject, depth: number): void => {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
    for (const [name, child] of entries) {
      path.push(name);
      if (name === '__proto__') report('is a name that must not be used');
      else if (typeof name === 'string' && !name.isWellFormed()) {
        report('is a name with half of a surrogate pair');
      } else visit(child, depth + 1);
      path.pop();
    }
  };

  visit(body, 1);
  return problems;
}

/** Refuses an overflow, and an integer beyond ±(2^53−1), which may not be the one that was sent. */
function canBeHeld(number: number): boolean {
  return Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
}
