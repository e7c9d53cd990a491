/** The query parameters of the event list, with the SQL condition of each filter. */

import { eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { addHint } from '../http/hints.ts';
import { makeWaitParameter } from '../http/long-poll.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pagingParameters } from '../http/paging.ts';
import { makeListMetadata, makeListSchema } from '../http/query.ts';
import { withMetadata } from '../schema/metadata.ts';
import { UUID_PATTERN, uuid } from '../schema/uuid.ts';
import { explainWrongDate } from './dates.ts';
import { NAME_BOUNDS, name } from './event-types.ts';
import { events } from './table.ts';

const MAX_EVENT_TYPES = 50;

const eventOrder = withMetadata(
  z.enum(['asc', 'desc']).default('desc'),
  '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
);

/** Length of a comma and a space between two values. */
const SEPARATOR_CHARACTERS = 2;

/** Makes the schema of a list. Parsing converts it to JSON text, which a statement binds as one value. */
function makeValueList(
  value: z.ZodType<string, string>,
  maxCharacters: number,
  max: number,
  noun: string,
) {
  return makeListSchema(value, max * (maxCharacters + SEPARATOR_CHARACTERS))
    .refine((values) => values.length <= max, `must be at most ${max} ${noun}`)
    .transform((values) => JSON.stringify([...new Set(values)].sort()));
}

/**
 * Matches an ISO 8601 timestamp as booking systems write it. Java leaves out seconds that are zero, and
 * some formatters of Java and PHP write the offset as `+0200` or `+02`.
 */
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,100})?)?)(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$/;

const TIMESTAMP_FORM =
  'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z';

const timestamp = z
  .string(TIMESTAMP_FORM)
  .regex(TIMESTAMP, { error: ({ input }) => addHint(TIMESTAMP_FORM, findTimestampHint(input)) })
  .refine((text) => explainWrongDate(text) === '', {
    error: ({ input }) => explainWrongDate(input) + TIMESTAMP_FORM,
  });

/** Returns a hint for a common mistake in a timestamp. */
function findTimestampHint(text = ''): string | undefined {
  if (!/^\d{4}-\d\d-\d\dT/i.test(text)) return undefined;
  // In a query, a `+` that is not escaped means a space.
  if (/\d \d\d(:?\d\d)?$/.test(text)) {
    return 'The + of its offset became a space. In a URL, write it as %2B.';
  }
  if (text.endsWith(']')) return 'Leave out the zone in brackets.';
  return /^.{10}t|z$/.test(text) ? 'Write T and Z in capitals.' : undefined;
}

/** Converts a valid timestamp to milliseconds since the epoch, rounded down. */
function parseTimestamp(text: string): number {
  const [, time = '', offset = ''] = TIMESTAMP.exec(text) ?? [];
  // `Date.parse` reads no other form of an offset.
  const [, hours, minutes = '00'] = /^([+-]\d\d):?(\d\d)?$/.exec(offset) ?? [];
  return Date.parse(hours === undefined ? text : `${time}${hours}:${minutes}`);
}

/**
 * Converts a valid timestamp to milliseconds since the epoch, rounded up.
 *
 * @example parseTimestampUp('1970-01-01T00:00:00.0001Z') // 1
 */
function parseTimestampUp(text: string): number {
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return parseTimestamp(text) + (isFiner ? 1 : 0);
}

type Filter = {
  /** Schema of the parameter. Values with the same meaning must have the same output. */
  schema: z.ZodType<string | number | undefined>;
  /** Builds the SQL condition that an event must meet. */
  condition(value: SQL): SQL;
};

const FILTERS = {
  id: {
    schema: makeValueList(uuid, 36, MAX_PAGE_SIZE, 'ids')
      .exactOptional()
      .register(z.globalRegistry, {
        description: 'Only the stored events with these ids: comma-separated, repeated, or both.',
        ...makeListMetadata(
          { type: 'string', pattern: UUID_PATTERN, minLength: 36, maxLength: 36 },
          MAX_PAGE_SIZE,
        ),
      }),
    condition: () => sql`${events.id} = wanted.value`,
  },
  type: {
    // Accepts any name, because stored events may have a type that is no longer accepted.
    schema: makeValueList(name, NAME_BOUNDS.maxLength, MAX_EVENT_TYPES, 'types')
      .exactOptional()
      .register(z.globalRegistry, {
        description: 'Only events of these types: comma-separated, repeated, or both.',
        ...makeListMetadata({ type: 'string', ...NAME_BOUNDS }, MAX_EVENT_TYPES),
      }),
    condition: (types) => sql`${events.type} in (select value from json_each(${types}))`,
  },
  aggregate_type: {
    schema: withMetadata(name.exactOptional(), 'Only events about entities of this type.'),
    condition: (type) => eq(events.aggregate_type, type),
  },
  aggregate_id: {
    schema: withMetadata(name.exactOptional(), 'Only events about this entity.'),
    condition: (id) => eq(events.aggregate_id, id),
  },
  created_after: {
    schema: withMetadata(
      timestamp.transform(parseTimestamp).exactOptional(),
      'Only events accepted after this time, whose day must be in the calendar. To follow the list, send `cursor` or `after_id` instead, because the events of a batch share one time.',
    ),
    condition: (time) => gt(events.created_at, time),
  },
  created_before: {
    schema: withMetadata(
      timestamp.transform(parseTimestampUp).exactOptional(),
      'Only events accepted before this time, whose day must be in the calendar.',
    ),
    condition: (time) => lt(events.created_at, time),
  },
} satisfies Record<string, Filter>;

/** The requested ids as rows, to join with the events. `id in (select …)` would read one more row per id. */
export const WANTED_IDS = sql`json_each(${sql.placeholder('id')}) as wanted`;

type FilterName = keyof typeof FILTERS;

/** The filters of a request. An event must pass all of them. */
export type EventFilters = { [Name in FilterName]?: string | number };

export const FILTER_ENTRIES = Object.entries<Filter>(FILTERS);

const filterParameters = Object.fromEntries(
  FILTER_ENTRIES.map(([name, { schema }]) => [name, schema]),
) as { [Name in FilterName]: (typeof FILTERS)[Name]['schema'] };

export const listParameters = z
  .object({
    order: eventOrder,
    ...filterParameters,
    after_id: withMetadata(
      uuid.exactOptional(),
      'Only events after the event with this id, in the chosen order. The event must exist.',
    ),
    limit: pagingParameters.limit
      .unwrap()
      .exactOptional()
      .register(z.globalRegistry, {
        description: 'Items per page; with `id` the default is 100.',
        override: { default: DEFAULT_PAGE_SIZE },
      }),
    cursor: withMetadata(
      pagingParameters.cursor.unwrap().optional(),
      'The `next_cursor` or the `resume_cursor` of an earlier response, unchanged and with the same filters; `limit` and `wait` may change.',
    ),
    wait: makeWaitParameter('order=asc', 'an event'),
  })
  .refine(({ wait, order }) => wait === undefined || order === 'asc', {
    path: ['wait'],
    error: 'needs order=asc',
    // Otherwise another invalid parameter would hide this problem.
    when: () => true,
  });

export type ListParameters = z.output<typeof listParameters>;
