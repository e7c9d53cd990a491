/**
 * Reads a JSON request body within bounds.
 *
 * The bytes are counted as they arrive: `Content-Length` is only a hint, it may lie or be missing.
 */

import { ApiError, type Problem, validationError } from './errors.ts';
import { type JsonObject, type JsonValue, limitProblemsOf } from './json-limits.ts';

/** A longer body is a 413. */
export const MAX_BODY_BYTES = 256 * 1024;
/** What is read and dropped of a body that is too large, before its sender is cut off. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;

/**
 * The body as a JSON object. The checks run in this order, and the first that fails answers: media
 * type (415), size (413), UTF-8, JSON, being an object, limits (400 `validation_error`; for the
 * limits with every place that breaks one).
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

/** RFC 9110 sections 8.3 and 8.4: parameters of the media type do not matter, a coding is not undone. */
function requireJson(headers: Headers): void {
  const [mediaType = ''] = (headers.get('Content-Type') ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    throw new ApiError(
      'unsupported_media_type',
      'Send the body as Content-Type: application/json.',
    );
  }
  const coding = (headers.get('Content-Encoding') ?? 'identity').trim().toLowerCase();
  if (coding !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get('Content-Length')) > MAX_BODY_BYTES) throw tooLarge();
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await readChunk(reader);
    if (done) return joined(chunks, size);
    size += value.length;
    if (size > MAX_BODY_BYTES) {
      await dropRest(reader);
      throw tooLarge();
    }
    chunks.push(value);
  }
}

/** A client that is cut off while it sends loses the answer with the connection (RFC 9112 section 9.6). */
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

/** A byte order mark at the start is dropped (RFC 8259 section 8.1 allows it). */
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

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', `The body may have at most ${MAX_BODY_BYTES} bytes.`);
}

/** A problem of the body as a whole: no `param`. */
function unreadable(message: string, cause?: unknown): ApiError {
  const problem: Problem = { path: '', message };
  return new ApiError('validation_error', message, { details: [problem], cause });
}
