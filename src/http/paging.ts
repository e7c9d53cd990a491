/** The list resource and the two parameters that page through it (specification: List resource). */

import * as z from 'zod';

export const DEFAULT_PAGE_SIZE = 25;
export const MAX_PAGE_SIZE = 100;

/** `limit` and `cursor`, as every list takes them. An unreadable cursor is not told here: see cursor.ts. */
export const pagingParameters = {
  limit: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1).max(MAX_PAGE_SIZE))
    .default(DEFAULT_PAGE_SIZE),
  cursor: z.string().optional(),
};

/** The schema of a page of `item`. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  });
}
