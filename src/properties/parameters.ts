/**
 * The query parameters of the feed. A filter is its entry here and the column of the same name in table.ts: validation,
 * cursors, statements and the document follow from these. Their words stand in openapi/schemas.ts.
 */

import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { namesIn } from '../http/query.ts';
import { uuid } from '../http/uuid.ts';
import { waitParameter } from '../http/wait.ts';
import { LOCALES } from './locale-map.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import type { FilterColumn } from './table.ts';
import { slug } from './text.ts';

/** The parameters that filter listings. A listing must fit each of them, and have any of the statuses. */
export const filterParameters = {
  type: z.enum(PROPERTY_TYPES).optional(),
  status: namesIn(PUBLIC_STATUSES).default(['listed']),
  location_id: uuid.optional(),
  location: slug.optional(),
} satisfies Record<FilterColumn | 'status' | 'location', z.ZodType>;

/** Parsed filters. Each status is there once, in one order, so equal filters have equal JSON texts. */
export type FeedFilters = z.infer<z.ZodObject<typeof filterParameters>>;

/** The languages chosen, each once and in one order; undefined for all of them. */
const locale = namesIn(LOCALES)
  .transform((asked) => (asked.length < LOCALES.length ? asked : undefined))
  .optional();

/** `fresh=true` asks for an answer that no cache gives. */
const fresh = z.literal('true').optional();

/** The parameters of the list of properties, and of their cards. */
export const listParameters = z
  .object({ ...filterParameters, locale, fresh, ...pagingParameters })
  .refine((asked) => asked.location === undefined || asked.location_id === undefined, {
    path: ['location'],
    error: 'cannot be sent beside location_id',
    // Without this, another bad parameter would hide the problem.
    when: () => true,
  });

/** The parameters of a single property. */
export const itemParameters = z.object({ locale, fresh });

/** The parameters of the list of locations. */
export const locationParameters = z.object({ locale, fresh, ...pagingParameters });

/** The parameters of the list of changes. */
export const changeParameters = z
  .object({
    locale,
    limit: pagingParameters.limit,
    after: pagingParameters.cursor,
    wait: waitParameter,
  })
  .refine((asked) => asked.wait === undefined || asked.after !== undefined, {
    path: ['wait'],
    error: 'needs after',
    when: () => true,
  });
