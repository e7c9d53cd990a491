/**
 * The order of the list of events, and its filters.
 *
 * An entry of `FILTERS` is everything that the service knows of a filter. The validation of the query
 * parameter, its documentation, the canonical form and the SQL are made from it.
 */

import { eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { pagingParameters } from '../http/paging.ts';
import { uuid } from '../http/uuid.ts';
import { given } from '../storage/page.ts';
import {
  MAX_NAME_CHARACTERS,
  millisecondFrom,
  NAME_PATTERN,
  name,
  timestamp,
} from './catalogue.ts';
import { events } from './table.ts';

const MAX_KINDS = 50;

/** The order in which D1 committed the events, or its reverse. */
const eventOrder = z.enum(['asc', 'desc']).default('desc').meta({
  description: '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
});

export type EventOrder = z.output<typeof eventOrder>;

const kindList = z.array(name).superRefine((kinds, context) => {
  if (kinds.length <= MAX_KINDS) return;
  // As a problem of an entry: the parameter as a whole may be repeated.
  const message = `must be at most ${MAX_KINDS} kinds`;
  context.addIssue({ code: 'custom', path: [MAX_KINDS], message });
});

/**
 * Comma-separated, repeated, or both. A kind that the catalogue does not have is allowed: no event has
 * it, or older ones do. The output is the JSON text of a list, with each kind once and in the order of
 * their code units, so that equal lists have equal outputs and a statement can bind it as one value.
 */
const kinds = z
  .union([z.string(), z.array(z.string())])
  .transform((sent) => [sent].flat().join(',').split(','))
  .pipe(kindList)
  .transform((asked) => JSON.stringify([...new Set(asked)].sort()))
  .meta({
    param: { style: 'form', explode: false },
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.anyOf;
      const items = {
        type: 'string',
        minLength: 1,
        maxLength: MAX_NAME_CHARACTERS,
        pattern: NAME_PATTERN,
      };
      Object.assign(jsonSchema, { type: 'array', items, minItems: 1, maxItems: MAX_KINDS });
    },
  });

type Filter = {
  /** Validates the parameter. Two values with the same meaning have the same output. */
  schema: z.ZodType<string | number>;
  description: string;
  /** The condition that a row must meet; the value is bound to it later. */
  condition(value: SQL): SQL;
};

/** Query parameter → filter. */
const FILTERS = {
  type: {
    schema: kinds,
    description: 'Only events of these kinds: comma-separated, repeated, or both.',
    condition: (kinds) => sql`${events.type} in (select value from json_each(${kinds}))`,
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
} satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** The filters of a request, in canonical form: equal filters have equal JSON texts. An event must pass all of them. */
export type EventFilters = { [Name in FilterName]?: string | number };

const filters = Object.entries<Filter>(FILTERS);

/** Query parameter → its schema. */
const filterParameters = Object.fromEntries(
  filters.map(([name, { schema, description }]) => [
    name,
    schema.exactOptional().meta({ description }),
  ]),
) as { [Name in FilterName]: z.ZodExactOptional<(typeof FILTERS)[Name]['schema']> };

/** Returns the conditions of the given filters. Each value is bound under its parameter's name. */
export function conditionsOf(asked: EventFilters): SQL[] {
  return filters
    .filter(([name]) => name in asked)
    .map(([name, { condition }]) => condition(given(name)));
}

/** The query parameters of the list. */
export const listParameters = z.object({
  order: eventOrder,
  ...filterParameters,
  after_id: uuid.exactOptional().meta({
    description:
      'Only events that follow this one in the chosen order. A reader that has reached the end goes on from the last event that it saw.',
  }),
  ...pagingParameters,
});
