/**
 * The order of the list of events, and its filters.
 *
 * An entry of `FILTERS` is everything that the service knows of a filter. The validation of the query
 * parameter, its documentation, the canonical form and the SQL are made from it.
 */

import { eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pagingParameters } from '../http/paging.ts';
import { uuid } from '../http/uuid.ts';
import { waitParameter } from '../http/wait.ts';
import { given } from '../storage/page.ts';
import { millisecondFrom, name, timestamp } from './catalogue.ts';
import { events } from './table.ts';

export const MAX_KINDS = 50;

/** The order in which D1 committed the events, or its reverse. */
const eventOrder = z.enum(['asc', 'desc']).default('desc');

export type EventOrder = z.output<typeof eventOrder>;

/**
 * Makes the schema of a parameter that lists values: comma-separated, repeated, or both. The output is the JSON
 * text of a list, with each value once and in the order of their code units, so that equal lists have equal
 * outputs and a statement can bind it as one value.
 */
function listOf(value: z.ZodType<string, string>, max: number, what: string) {
  const values = z.array(value).superRefine((values, context) => {
    if (values.length <= max) return;
    // As a problem of an entry: the parameter as a whole may be repeated.
    context.addIssue({ code: 'custom', path: [max], message: `must be at most ${max} ${what}` });
  });
  return z
    .union([z.string(), z.array(z.string())])
    .transform((sent) => [sent].flat().join(',').split(','))
    .pipe(values)
    .transform((asked) => JSON.stringify([...new Set(asked)].sort()));
}

/** A kind that the catalogue does not have is allowed: no event has it, or older ones do. */
const kinds = listOf(name, MAX_KINDS, 'kinds');

const ids = listOf(uuid, MAX_PAGE_SIZE, 'ids');

type Filter = {
  /** Validates the parameter. Two values with the same meaning have the same output. */
  schema: z.ZodType<string | number>;
  /** The condition that a row must meet; the value is bound to it later. */
  condition(value: SQL): SQL;
};

/** Query parameter → filter. */
const FILTERS = {
  id: {
    schema: ids,
    // By rowid: the index of the ids is asked for each id, and no range of the stream is read.
    condition: (ids) =>
      sql`${events.seq} in (select seq from events as named
        where named.id in (select value from json_each(${ids})))`,
  },
  type: {
    schema: kinds,
    condition: (kinds) => sql`${events.type} in (select value from json_each(${kinds}))`,
  },
  aggregate_type: {
    schema: name,
    condition: (type) => eq(events.aggregate_type, type),
  },
  aggregate_id: {
    schema: name,
    condition: (id) => eq(events.aggregate_id, id),
  },
  created_after: {
    schema: timestamp.transform((text) => Date.parse(text)),
    condition: (time) => gt(events.created_at, time),
  },
  created_before: {
    schema: timestamp.transform(millisecondFrom),
    condition: (time) => lt(events.created_at, time),
  },
} satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** The filters of a request, in canonical form: equal filters have equal JSON texts. An event must pass all of them. */
export type EventFilters = { [Name in FilterName]?: string | number };

const filters = Object.entries<Filter>(FILTERS);

/** Query parameter → its schema. */
const filterParameters = Object.fromEntries(
  filters.map(([name, { schema }]) => [name, schema.exactOptional()]),
) as { [Name in FilterName]: z.ZodExactOptional<(typeof FILTERS)[Name]['schema']> };

/** Returns the conditions of the given filters. Each value is bound under its parameter's name. */
export function conditionsOf(asked: EventFilters): SQL[] {
  return filters
    .filter(([name]) => name in asked)
    .map(([name, { condition }]) => condition(given(name)));
}

/** The query parameters of the list. A list of ids is a page of all of them unless `limit` is sent. */
export const listParameters = z
  .object({
    order: eventOrder,
    ...filterParameters,
    after_id: uuid.exactOptional(),
    ...pagingParameters,
    limit: pagingParameters.limit.unwrap().exactOptional(),
    wait: waitParameter,
  })
  .refine(({ wait, order }) => wait === undefined || order === 'asc', {
    path: ['wait'],
    error: 'needs order=asc',
  });

/** Returns the size of a page. */
export function pageSizeOf({ limit, id }: { limit?: number; id?: unknown }): number {
  return limit ?? (id === undefined ? DEFAULT_PAGE_SIZE : MAX_PAGE_SIZE);
}
