/** The list resource, and the two parameters that page through it. */

import * as z from 'zod';
import { MAX_CURSOR_CHARACTERS } from './cursor.ts';

/** Items per page. */
export const DEFAULT_PAGE_SIZE = 25;
export const MAX_PAGE_SIZE = 100;

/** A cursor as it is sent: base64url without padding. */
export const cursorText = z
  .string()
  .max(MAX_CURSOR_CHARACTERS)
  .regex(/^[\w-]+$/);

/** `limit` and `cursor`, as every list takes them. cursor.ts decides whether a cursor can be read. */
export const pagingParameters = {
  limit: z
    .string()
    .refine((digits) => /^-?\d+$/.test(digits), { error: 'must be a whole number', abort: true })
    .transform(Number)
    .refine((size) => size >= 1, { error: 'must be at least 1' })
    .refine((size) => size <= MAX_PAGE_SIZE, { error: `must be at most ${MAX_PAGE_SIZE}` })
    .default(DEFAULT_PAGE_SIZE),
  cursor: z.string().optional(),
};

/** A page of items. */
export type ListOf<Item> = z.output<ReturnType<typeof listOf<z.ZodType<Item>>>>;

/** Makes the schema of a page of `item`. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item).max(MAX_PAGE_SIZE),
    has_more: z.boolean(),
    next_cursor: cursorText.nullable(),
  });
}

/**
 * Writes a page of documents, which are JSON texts themselves. `next` is the cursor to what follows,
 * or null on the last page. `more` are the fields that this list has besides.
 */
export function listJson(
  documents: readonly string[],
  next: string | null,
  more: Readonly<Record<string, string>> = {},
): string {
  const others = Object.entries(more).map(([name, value]) => `,"${name}":${JSON.stringify(value)}`);
  return `{"object":"list","data":[${documents.join(',')}],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}${others.join('')}}`;
}
