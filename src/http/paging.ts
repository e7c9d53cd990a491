/**
 * How lists page. A cursor is base64url of an 8-byte check and a JSON text: form, list, hash of the
 * filters, position, e.g. `[2,"events","03afa0251fe2a868",[41]]`. The check detects an altered
 * cursor. It is no signature: a forger may list these rows anyway.
 */

import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import * as z from 'zod';
import { withMetadata } from '../schema/metadata.ts';
import { wholeNumber } from '../schema/numbers.ts';
import { ApiError } from './errors.ts';
import { parseJson } from './json-text.ts';

/** Raise it when the meaning of a position changes. */
const CURSOR_FORM = 2;
const CHECK_BYTES = 8;
/** The longest cursor has about 500 characters. */
export const MAX_CURSOR_CHARACTERS = 1_000;

const encoder = new TextEncoder();

export const DEFAULT_PAGE_SIZE = 25;
export const MAX_PAGE_SIZE = 100;

const CURSOR_METADATA = {
  override: { pattern: '^[0-9A-Za-z_-]+$', minLength: 1, maxLength: MAX_CURSOR_CHARACTERS },
};

const NOT_OF_LIST = 'is not of this list with these filters. Start again without it.';

/**
 * `limit` and `cursor`, as every list takes them. The schema rejects a cursor that `encodeCursor` did
 * not make, and `decodeCursor` one of another scope.
 */
export const pagingParameters = {
  limit: wholeNumber(1, MAX_PAGE_SIZE)
    .default(DEFAULT_PAGE_SIZE)
    .register(z.globalRegistry, {
      description: 'Items per page.',
      override: { default: DEFAULT_PAGE_SIZE },
    }),
  cursor: withMetadata(
    z
      .string()
      .refine(isIntact, {
        error: ({ input }) => (input === '' ? 'is empty. A first page has none.' : NOT_OF_LIST),
        params: { code: 'invalid_cursor' },
      })
      .register(z.globalRegistry, CURSOR_METADATA)
      .optional(),
    'The `next_cursor` of the previous page, unchanged and with the same filters; `limit` may change. Without it, you get the first page.',
  ),
};

/** Writes a page of JSON texts. `more` are further fields, such as `resume_cursor`. */
export function listJson(
  documents: readonly string[],
  next: string | null,
  more: Readonly<Record<string, string | null>> = {},
): string {
  const others = Object.entries(more).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`);
  return `{"object":"list","data":[${documents.join(',')}],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}${others.join('')}}`;
}

/** Adds a field whose value is JSON text already. */
export function jsonWithField(object: object, name: string, json: string): string {
  const fields = JSON.stringify(object).slice(0, -1);
  return `${fields},"${name}":${json}}`;
}

export type CursorScope = {
  list: string;
  /** In canonical form, without `limit`: equal filters have equal JSON texts. */
  filters?: object;
};

/** Makes the cursor for the rows after `position`. */
export function encodeCursor(scope: CursorScope, position: unknown): string {
  const text = encoder.encode(
    JSON.stringify([CURSOR_FORM, scope.list, digestOfFilters(scope), position]),
  );
  return Buffer.concat([computeCheck(text), text]).toString('base64url');
}

/** Returns the position in a cursor. Throws `invalid_cursor` for one that has another scope. */
export function decodeCursor<Position>(
  cursor: string | undefined,
  scope: CursorScope,
  positionSchema: z.ZodType<Position>,
  param = 'cursor',
): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = readText(cursor);
  const filters = digestOfFilters(scope);
  // A check can be forged, so the text may be no JSON.
  const content = z
    .tuple([z.literal(CURSOR_FORM), z.literal(scope.list), z.literal(filters), positionSchema])
    .safeParse(text && parseJson(new TextDecoder().decode(text)));
  if (!content.success) throw invalidCursor(param);
  return content.data[3];
}

/** Whether `encodeCursor` made the cursor, for any scope. */
function isIntact(cursor: string): boolean {
  return readText(cursor) !== undefined;
}

/** 400 `invalid_cursor`. `fault` follows the noun. */
export function invalidCursor(param = 'cursor', fault = NOT_OF_LIST): ApiError {
  return new ApiError('invalid_cursor', `The cursor ${fault}`, { param });
}

function readText(cursor: string): Uint8Array | undefined {
  if (cursor.length > MAX_CURSOR_CHARACTERS) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor) return undefined;
  const text = bytes.subarray(CHECK_BYTES);
  return bytes.subarray(0, CHECK_BYTES).equals(computeCheck(text)) ? text : undefined;
}

function digestOfFilters({ filters }: CursorScope): string {
  return filters === undefined
    ? ''
    : computeCheck(encoder.encode(JSON.stringify(filters))).toString('hex');
}

function computeCheck(text: Uint8Array): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, CHECK_BYTES);
}
