/** The words of the schemas that every capability shares: UUIDs, paging parameters and pages. */

import type * as z from 'zod';
import {
  DEFAULT_PAGE_SIZE,
  listOf,
  MAX_CURSOR_CHARACTERS,
  MAX_PAGE_SIZE,
  pagingParameters,
} from '../http/paging.ts';
import { lowerCaseUuid, uuid } from '../http/uuid.ts';
import { described, type Words } from './described.ts';

const UUID_WORDS = {
  format: 'uuid',
  minLength: 36,
  maxLength: 36,
  examples: ['5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'],
};
described(uuid, UUID_WORDS);
described(lowerCaseUuid, UUID_WORDS);

/** The words of `pagingParameters`, for the query of a list. */
export const pagingWords = {
  limit: {
    description: 'Items per page.',
    override: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
    },
  },
  cursor: {
    description:
      'The `next_cursor` of the page before, unchanged and with the same filters; `limit` may change. Leave it out for the first page.',
    override: { pattern: '^[0-9A-Za-z_-]+$', minLength: 1, maxLength: MAX_CURSOR_CHARACTERS },
  },
} as const satisfies Record<keyof typeof pagingParameters, Words>;
described(pagingParameters.limit, pagingWords.limit);
described(pagingParameters.cursor, pagingWords.cursor);

/** The words of a page, for a list that has fields besides. */
export const pageWords = {
  data: 'The items of the page.',
  has_more: 'Whether more items follow.',
  next_cursor: { description: 'Opaque; null on the last page.', examples: [null] },
} as const satisfies Record<string, Words>;

/** Makes the schema of a page of `item`: the component `id` of the document. */
export function pageOf<Item extends z.ZodType>(item: Item, id: string, description: string) {
  return described(listOf(item), { id, description, fields: pageWords });
}

/** Describes a query parameter that lists some of `names`: an array, written with commas. */
export function namesWords(names: readonly string[], description: string): Words {
  const items = { type: 'string', enum: [...names] };
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.anyOf;
      Object.assign(jsonSchema, { type: 'array', items, minItems: 1, maxItems: names.length });
    },
    param: { style: 'form', explode: false },
  };
}
