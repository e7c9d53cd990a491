/**
 * The filters of the feed. A filter is its entry here and the column of the same name in table.ts:
 * validation, cursors, statements and the document follow from these.
 */

import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { listMeta, namesIn } from '../http/query.ts';
import { uuid } from '../http/uuid.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import { selectionParameters } from './selection.ts';
import type { FilterColumn } from './table.ts';

/** The query parameters that filter the list. A listing must fit each of them, and have any of the statuses. */
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

/** The query parameters of the list. */
export const listParameters = z.object({
  ...filterParameters,
  ...selectionParameters,
  ...pagingParameters,
});

/** Parsed filters. Each status is there once, in one order, so equal filters have equal JSON texts. */
export type FeedFilters = z.infer<z.ZodObject<typeof filterParameters>>;

type ExactFilter = Exclude<keyof FeedFilters, 'status'>;

// Object.keys forgets the names.
const EXACT_FILTERS = Object.keys(filterParameters).filter(
  (name) => name !== 'status',
) as ExactFilter[];

/** Returns the given filters whose column must equal their value. */
export function exactFiltersOf(filters: FeedFilters): [ExactFilter, string | number][] {
  return EXACT_FILTERS.flatMap((name): [ExactFilter, string | number][] => {
    const value = filters[name];
    return value === undefined ? [] : [[name, value]];
  });
}

/** The names in cursors that differ from the parameters'. They stay, because a cursor outlives a deployment. */
const CURSOR_NAMES: Partial<Record<ExactFilter, string>> = { location_id: 'locationId' };

/** Returns the text that a cursor keeps of the filters it was made under. */
export function filterTextOf(filters: FeedFilters): string {
  const exact = exactFiltersOf(filters).map(([name, value]) => [CURSOR_NAMES[name] ?? name, value]);
  return JSON.stringify({ statuses: filters.status, ...Object.fromEntries(exact) });
}
