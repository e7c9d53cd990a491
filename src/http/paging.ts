/**
 * Writes the pages of lists, and encodes and decodes their cursors. A cursor is the base64url of an
 * 8-byte checksum and a JSON text. The text contains the version of the format, the list, a hash of the
 * filters, and the position:
 *
 *     [2,"events","03afa0251fe2a868",[41]]
 *
 * The checksum detects altered cursors. It is not a signature, because a client that forges a cursor
 * gets only rows that it may list anyway.
 */

import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import * as z from 'zod';
import { withMetadata } from '../schema/metadata.ts';
import { wholeNumber } from '../schema/numbers.ts';
import { ApiError } from './errors.ts';
import { parseJson } from './json-text.ts';

/** Version of the cursor format. Increase it when the meaning of a position changes. */
const CURSOR_FORM = 2;
const CHECK_BYTES = 8;
/** Maximum length of a cursor. Cursors that the service writes have at most about 500 characters. */
export const MAX_CURSOR_CHARACTERS = 1_000;

const encoder = new TextEncoder();

export const DEFAULT_PAGE_SIZE = 25;
export const MAX_PAGE_SIZE = 100;

const CURSOR_METADATA = {
  override: { pattern: '^[0-9A-Za-z_-]+$', minLength: 1, maxLength: MAX_CURSOR_CHARACTERS },
};

const OTHER_LIST = 'does not belong to this list with these filters. Start again without a cursor.';

/**
 * The parameters `limit` and `cursor` of every list. The schema rejects a cursor that `encodeCursor`
 * did not write. `decodeCursor` rejects a cursor from another scope.
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
        error: ({ input }) =>
          input === '' ? 'is empty. Leave it out for the first page.' : OTHER_LIST,
        params: { code: 'invalid_cursor' },
      })
      .register(z.globalRegistry, CURSOR_METADATA)
      .optional(),
    'The `next_cursor` of the previous page, unchanged and with the same filters; `limit` may change. Without it, you get the first page.',
  ),
};

/** Writes a page of items as JSON text. `more` contains additional fields, such as `resume_cursor`. */
export function writePage(
  documents: readonly string[],
  next: string | null,
  more: Readonly<Record<string, string | null>> = {},
): string {
  const others = Object.entries(more).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`);
  return `{"object":"list","data":[${documents.join(',')}],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}${others.join('')}}`;
}

/** Serialises an object, and appends a field whose value is already JSON text. */
export function writeWithField(object: object, name: string, json: string): string {
  const fields = JSON.stringify(object).slice(0, -1);
  return `${fields},"${name}":${json}}`;
}

export type CursorScope = {
  list: string;
  /** Filters in canonical form, without `limit`. Equal filters have equal JSON. */
  filters?: object;
};

/** Encodes the cursor for the rows after `position`. */
export function encodeCursor(scope: CursorScope, position: unknown): string {
  const text = encoder.encode(
    JSON.stringify([CURSOR_FORM, scope.list, digestFilters(scope), position]),
  );
  return Buffer.concat([computeCheck(text), text]).toString('base64url');
}

/** Returns the position in a cursor. Throws `invalid_cursor` for a cursor from another scope. */
export function decodeCursor<Position>(
  cursor: string | undefined,
  scope: CursorScope,
  positionSchema: z.ZodType<Position>,
  param = 'cursor',
): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = readText(cursor);
  const filters = digestFilters(scope);
  // The checksum can be forged, so the text is not always JSON.
  const content = z
    .tuple([z.literal(CURSOR_FORM), z.literal(scope.list), z.literal(filters), positionSchema])
    .safeParse(text && parseJson(new TextDecoder().decode(text)));
  if (!content.success) throw invalidCursor(param);
  return content.data[3];
}

/** Whether `encodeCursor` wrote the cursor, for any scope. */
function isIntact(cursor: string): boolean {
  return readText(cursor) !== undefined;
}

/** Builds a 400 `invalid_cursor`. `problem` continues the sentence "The cursor …". */
export function invalidCursor(param = 'cursor', problem = OTHER_LIST): ApiError {
  return new ApiError('invalid_cursor', `The cursor ${problem}`, { param });
}

function readText(cursor: string): Uint8Array | undefined {
  if (cursor.length > MAX_CURSOR_CHARACTERS) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor) return undefined;
  const text = bytes.subarray(CHECK_BYTES);
  return bytes.subarray(0, CHECK_BYTES).equals(computeCheck(text)) ? text : undefined;
}

function digestFilters({ filters }: CursorScope): string {
  return filters === undefined
    ? ''
    : computeCheck(encoder.encode(JSON.stringify(filters))).toString('hex');
}

function computeCheck(text: Uint8Array): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, CHECK_BYTES);
}
