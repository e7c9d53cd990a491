/**
 * Reads a JSON request body within bounds. The bytes are counted as they arrive: `Content-Length` is
 * only a hint, since it may lie or be missing.
 */

import { ApiError, validationError } from './errors.ts';
import { type JsonObject, type JsonValue, limitProblemsOf } from './json-limits.ts';

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
