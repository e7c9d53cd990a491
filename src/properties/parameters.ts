/**
 * The query parameters of the feed's four lists and of its item. A filter is its entry here and the column of
 * the same name in table.ts: validation, cursors, statements and the document follow from these.
 */

import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { listMeta, namesIn } from '../http/query.ts';
import { uuid } from '../http/uuid.ts';
import { isNonEmpty } from '../http/validate.ts';
import { LOCALES } from './locale-map.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES, property } from './resource.ts';
import type { FilterColumn } from './table.ts';

const FIELDS = fieldNames();

/** The parameters that filter the list of properties. A listing must fit each of them, and have any of the statuses. */
export const filterParameters = {
  type: z.enum(PROPERTY_TYPES).optional().meta({ description: 'Only homes of this kind.' }),
  status: namesIn(PUBLIC_STATUSES)
    .default(['listed'])
    .meta(
      listMeta(
        PUBLIC_STATUSES,
        'Only homes of these web statuses, comma-separated. `hidden` cannot be asked for.',
      ),
    ),
  location_id: uuid.optional().meta({
    description: 'Only homes at this location: the `location.id` of any of them.',
  }),
} satisfies Record<FilterColumn | 'status', z.ZodType>;

/** Parsed filters. Each status is there once, in one order, so equal filters have equal JSON texts. */
export type FeedFilters = z.infer<z.ZodObject<typeof filterParameters>>;

const locale = namesIn(LOCALES)
  .optional()
  .meta(
    listMeta(
      LOCALES,
      'Only these languages of every text, comma-separated. A language that a text lacks is absent: there is no fallback.',
    ),
  );

const selectionParameters = {
  fields: namesIn(FIELDS)
    .optional()
    .meta(
      listMeta(
        FIELDS,
        'Only these fields of a listing, comma-separated. `object` and `id` are always there, and the order is that of the resource.',
      ),
    ),
  locale,
};

/** The parameters of the list of properties. */
export const listParameters = z.object({
  ...filterParameters,
  ...selectionParameters,
  ...pagingParameters,
});

/** The parameters of a single property. */
export const itemParameters = z.object(selectionParameters);

/** The parameters of the list of locations. */
export const locationParameters = z.object({ locale, ...pagingParameters });

/** The parameters of the list of changes. */
export const changeParameters = z.object({
  ...selectionParameters,
  limit: pagingParameters.limit,
  after: pagingParameters.cursor.meta({
    description:
      'The `next_cursor` or the `resume_cursor` of any earlier answer, unchanged. Leave it out to begin with the whole public catalogue.',
  }),
});

/** The choice of fields and languages, each name once and in one order. A list that chooses everything is left out. */
export type Selection = { fields?: readonly string[]; locale?: readonly string[] };

/** Returns the canonical form of parsed parameters: equal answers have equal selections. */
export function selectionOf(asked: {
  fields?: readonly string[] | undefined;
  locale?: readonly string[] | undefined;
}): Selection {
  const fields = FIELDS.filter(
    (name) => name === 'object' || name === 'id' || asked.fields?.includes(name),
  );
  return {
    ...(asked.fields && fields.length < FIELDS.length && { fields }),
    ...(asked.locale && asked.locale.length < LOCALES.length && { locale: asked.locale }),
  };
}

/** Returns the fields of a listing, in its order. */
function fieldNames(): [string, ...string[]] {
  const names = Object.keys(property.shape);
  if (!isNonEmpty(names)) throw new Error('a property has fields');
  return names;
}
