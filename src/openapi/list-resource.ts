/** The schema of a page of a list, which http/paging.ts writes. */

import * as z from 'zod';
import { MAX_CURSOR_CHARACTERS, MAX_PAGE_SIZE } from '../http/paging.ts';
import { withMetadata } from '../schema/metadata.ts';

/** The schema of a cursor: base64url without padding. */
export const cursorText = z
  .string()
  .max(MAX_CURSOR_CHARACTERS)
  .regex(/^[\w-]+$/);

export function makeListResource<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: withMetadata(z.array(item).max(MAX_PAGE_SIZE), 'The items of the page.'),
    has_more: withMetadata(z.boolean(), 'Whether more items follow.'),
    next_cursor: withMetadata(cursorText.nullable(), 'Opaque; null on the last page.', null),
  });
}

/**
 * Makes the schema of a page of a list that clients can follow. A client sends `resume_cursor` as the
 * query parameter `parameter` to continue.
 */
export function makeFollowedList<Item extends z.ZodType>(item: Item, parameter: string) {
  return makeListResource(item).extend({
    resume_cursor: cursorText.meta({
      description: `Opaque, and present in every response: send it as \`${parameter}\` to get what follows this response, now or at any later time.`,
    }),
  });
}
