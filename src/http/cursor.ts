/**
 * Opaque page cursors: base64url of an 8-byte check and a JSON text `[version, list, filters, position]`.
 *
 * The check is the head of the text's SHA-256. It is there to find a cursor that was altered, cut or
 * made elsewhere, not to keep a secret: whoever forges a cursor can ask for rows that they may list
 * anyway, and the position is still validated.
 */

import * as z from 'zod';
import { ApiError } from './errors.ts';

/** Raise it when the meaning of a position changes; older cursors are then `invalid_cursor`. */
const VERSION = 1;
const CHECK_BYTES = 8;
/**
 * Above any cursor made here: that of the longest filters which find anything, two names of 255
 * control characters, has some 5,100. A longer one is refused before it is decoded.
 */
export const MAX_CURSOR_CHARACTERS = 8_000;

/** What a cursor is good for. */
export type CursorScope = {
  /** Which list: a cursor of another one does not fit. */
  list: string;
  /** The filters in canonical form; `limit` is not one of them. */
  filters: string;
};

/** The cursor for the rows after `position`. */
export async function encodeCursor(scope: CursorScope, position: unknown): Promise<string> {
  const text = bytesOf(JSON.stringify([VERSION, scope.list, scope.filters, position]));
  const bytes = new Uint8Array(CHECK_BYTES + text.length);
  bytes.set(await checkOf(text));
  bytes.set(text, CHECK_BYTES);
  return toBase64Url(bytes);
}

/**
 * The position that a cursor carries.
 * Throws `invalid_cursor` when it is not one that `encodeCursor` made under this scope.
 */
export async function decodeCursor<Position>(
  cursor: string,
  scope: CursorScope,
  positionSchema: z.ZodType<Position>,
): Promise<Position> {
  const text = await readText(cursor);
  if (text === undefined) throw invalidCursor();
  const content = z
    .tuple([z.literal(VERSION), z.literal(scope.list), z.literal(scope.filters), positionSchema])
    .safeParse(parseJson(text));
  if (!content.success) throw invalidCursor();
  return content.data[3];
}

/** Whether a cursor is as `encodeCursor` made it, under whatever scope. */
export async function isIntact(cursor: string): Promise<boolean> {
  return (await readText(cursor)) !== undefined;
}

/** The text that a cursor carries; `undefined` when its check does not fit it. */
async function readText(cursor: string): Promise<Uint8Array | undefined> {
  const bytes = fromBase64Url(cursor);
  if (bytes === undefined || bytes.length <= CHECK_BYTES) return undefined;
  const text = bytes.subarray(CHECK_BYTES);
  const check = await checkOf(text);
  return check.every((byte, index) => byte === bytes[index]) ? text : undefined;
}

function invalidCursor(): ApiError {
  return new ApiError(
    'invalid_cursor',
    'The cursor is not one that this list gave for these filters. Start again without it.',
    { param: 'cursor' },
  );
}

/** Undefined for what is no JSON: the check of such a text can be forged too. */
function parseJson(text: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(text));
  } catch {
    return undefined;
  }
}

async function checkOf(text: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', text)).subarray(0, CHECK_BYTES);
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** `undefined` unless the text is exactly what `toBase64Url` writes: no padding, no unused bits. */
function fromBase64Url(text: string): Uint8Array | undefined {
  if (text.length > MAX_CURSOR_CHARACTERS || !/^[\w-]+$/.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return toBase64Url(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}
