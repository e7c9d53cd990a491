/**
 * The filters of the list of events.
 *
 * An entry of `FILTERS` is everything that the service knows of a filter. The validation of the query
 * parameter, its documentation, the canonical form and the SQL are made from it.
 */

import { eq, gt, lt, type Placeholder, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { uuid } from '../http/uuid.ts';
import { millisecondFrom, name, timestamp } from './catalogue.ts';
import { kinds, kindsInCursor } from './kind-filter.ts';
import { type EventOrder, eventOrder, isBehind, positionOf } from './order.ts';
import { events } from './table.ts';

type Filter = {
  /** Validates the parameter. Two values with the same meaning have the same output. */
  schema: z.ZodType<string | number>;
  description: string;
  /** The condition that a row must meet; the value is bound to it later. */
  condition(value: Placeholder, order: EventOrder): SQL;
  /** The value as a cursor's filters have it, where that is another. */
  inCursor?(value: string | number): unknown;
};

/** Query parameter → filter. */
const FILTERS = {
  type: {
    schema: kinds,
    description: 'Only events of these kinds: comma-separated, repeated, or both.',
    condition: (kinds) => sql`${events.type} in (select value from json_each(${kinds}))`,
    inCursor: kindsInCursor,
  },
  aggregate_type: {
    schema: name,
    description: 'Only events about this kind of entity.',
    condition: (type) => eq(events.aggregate_type, type),
  },
  aggregate_id: {
    schema: name,
    description: 'Only events about this entity.',
    condition: (id) => eq(events.aggregate_id, id),
  },
  created_after: {
    schema: timestamp.transform((text) => Date.parse(text)),
    description: 'Only events accepted after this time.',
    condition: (time) => gt(events.created_at, time),
  },
  created_before: {
    schema: timestamp.transform(millisecondFrom),
    description: 'Only events accepted before this time.',
    condition: (time) => lt(events.created_at, time),
  },
  after_id: {
    schema: uuid,
    description:
      'Only events that follow this one in the chosen order. A reader that has reached the end goes on from the last event that it saw.',
    condition: (id, order) => isBehind(positionOf(id), order),
  },
} satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** The filters of a request, in canonical form. An event must pass all of them. */
export type EventFilters = { [Name in FilterName]?: string | number };

const filters = Object.entries<Filter>(FILTERS);

/** Query parameter → how its value is written in a cursor's filters. */
const forCursor = new Map(filters.map(([name, { inCursor }]) => [name, inCursor]));

/** Query parameter → its schema. */
const filterParameters = Object.fromEntries(
  filters.map(([name, { schema, description }]) => [
    name,
    schema.exactOptional().meta({ description }),
  ]),
) as { [Name in FilterName]: z.ZodExactOptional<(typeof FILTERS)[Name]['schema']> };

/** Returns the conditions of the given filters. Each value is bound under its parameter's name. */
export function conditionsOf(given: EventFilters, order: EventOrder): SQL[] {
  return filters
    .filter(([name]) => name in given)
    .map(([name, { condition }]) => condition(sql.placeholder(name), order));
}

/**
 * Returns the text of the filters that a cursor is made for. The names are in camel case, as in the
 * cursors of earlier versions, so that a deployment leaves these valid.
 */
export function filterText(given: EventFilters, order: EventOrder): string {
  const camelCased = Object.entries(given).map(([name, value]) => [
    name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    forCursor.get(name)?.(value) ?? value,
  ]);
  return JSON.stringify({ order, ...Object.fromEntries(camelCased) });
}

/** The query parameters of the list. */
export const listParameters = z.object({
  order: eventOrder,
  ...filterParameters,
  ...pagingParameters,
});
