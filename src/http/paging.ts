/** The list resource and the two parameters that page through it (specification: List resource). */

import * as z from 'zod';
import { MAX_CURSOR_CHARACTERS } from './cursor.ts';

/** Items a page. */
export const DEFAULT_PAGE_SIZE = 25;
export const MAX_PAGE_SIZE = 100;

/** `limit` and `cursor`, as every list takes them. Whether a cursor can be read is decided by cursor.ts. */
export const pagingParameters = {
  limit: z
    .string()
    .regex(/^-?\d+$/, { error: 'must be a whole number', abort: true })
    .transform(Number)
    .refine((size) => size >= 1, { error: 'must be at least 1' })
    .refine((size) => size <= MAX_PAGE_SIZE, { error: `must be at most ${MAX_PAGE_SIZE}` })
    .default(DEFAULT_PAGE_SIZE),
  cursor: z.string().optional(),
};

/** A cursor as it is sent: base64url without padding. */
export const cursorText = z
  .string()
  .max(MAX_CURSOR_CHARACTERS)
  .regex(/^[\w-]+$/);

/** The schema of a page of `item`. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item).max(MAX_PAGE_SIZE),
    has_more: z.boolean().meta({ description: 'Whether more items follow.' }),
    next_cursor: cursorText.nullable().meta({ description: 'Opaque; null on the last page.' }),
  });
}

/** The JSON text of a page of documents, which are JSON texts themselves; `next` is the cursor to what follows, null for the last page. */
export function listJson(documents: readonly string[], next: string | null): string {
  return `{"object":"list","data":[${documents.join(',')}],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}}`;
}
