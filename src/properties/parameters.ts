/**
 * The query parameters of the feed. To add a filter, add an entry here, and a column of the same name in
 * table.ts. Validation, cursors, statements and the OpenAPI document use these entries.
 */

import * as z from 'zod';
import { makeWaitParameter } from '../http/long-poll.ts';
import { pagingParameters } from '../http/paging.ts';
import { makeEnumListSchema, makeListMetadata } from '../http/query.ts';
import { withMetadata } from '../schema/metadata.ts';
import { uuid } from '../schema/uuid.ts';
import { LOCALES } from './locale-map.ts';
import { slug } from './slug.ts';
import { PUBLIC_STATUSES, propertyType } from './statuses.ts';
import type { FILTER_COLUMNS } from './table.ts';

/** A listing must match every filter and have one of the statuses. */
const filterParameters = {
  type: withMetadata(propertyType.exactOptional(), 'Only listings of this type.'),
  status: makeEnumListSchema(PUBLIC_STATUSES)
    .default(['listed'])
    .register(z.globalRegistry, {
      description: 'Only listings with these web statuses, comma-separated. `hidden` is rejected.',
      ...makeListMetadata({ $ref: '#/components/schemas/PropertyStatus' }, PUBLIC_STATUSES.length),
    }),
  location_id: withMetadata(uuid.exactOptional(), 'Only listings at the location with this id.'),
  location: withMetadata(
    slug.exactOptional(),
    'Only listings at the location with this slug. It cannot be combined with `location_id`.',
    'sardinia',
  ),
} satisfies Record<(typeof FILTER_COLUMNS)[number] | 'status' | 'location', z.ZodType>;

/** Parsed filters. Statuses are deduplicated and sorted, so that equal filters have equal JSON. */
export type FeedFilters = z.infer<z.ZodObject<typeof filterParameters>>;

/**
 * Schema of the parameter `locale`. Parsing removes duplicates and sorts the languages. The output is
 * undefined for all languages.
 */
const locale = makeEnumListSchema(LOCALES)
  .transform((locales) => (locales.length < LOCALES.length ? locales : undefined))
  .optional()
  .register(z.globalRegistry, {
    description:
      'Only these languages of every text, comma-separated. If a text has no translation in a language, that language is absent. There is no fallback.',
    ...makeListMetadata({ $ref: '#/components/schemas/Locale' }, LOCALES.length),
  });

/** Schema of the parameter `fresh`. Accepts `True`, which Python sends, and `1`, which other clients send. */
const fresh = z
  .string()
  .toLowerCase()
  .pipe(z.enum(['true', 'false', '1', '0']))
  .transform((sent) => sent === 'true' || sent === '1')
  .optional()
  .register(z.globalRegistry, {
    description:
      'Bypasses the caches and reads the primary database, so that the response shows an import as soon as the import has ended. Use it to rebuild a page after a change.',
    override: { type: 'boolean' },
  });

export const listParameters = z
  .object({ ...filterParameters, locale, fresh, ...pagingParameters })
  .refine((query) => query.location === undefined || query.location_id === undefined, {
    path: ['location'],
    error: 'cannot be combined with location_id',
    // Otherwise another invalid parameter would hide this problem.
    when: () => true,
  });

export const itemParameters = z.object({ locale, fresh });

export const locationParameters = z.object({ locale, fresh, ...pagingParameters });

export const changeParameters = z
  .object({
    locale,
    limit: pagingParameters.limit,
    after: withMetadata(
      pagingParameters.cursor.unwrap().optional(),
      'The `next_cursor` or the `resume_cursor` of any earlier response, unchanged. Without it, the list begins with the complete public catalogue.',
    ),
    wait: makeWaitParameter('after', 'a change'),
  })
  .refine((query) => query.wait === undefined || query.after !== undefined, {
    path: ['wait'],
    error: 'needs after',
    when: () => true,
  });
