/**
 * The list of events: its query parameters and filters, and its reads in the order in which the events were committed.
 *
 * Every read goes to the primary, never to a replica: a caller must find an event whose 202 it has just got, and may
 * send an id that it has just read as `after_id`.
 */

import { and, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { described } from '../http/described.ts';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pagingParameters } from '../http/paging.ts';
import { listedTexts, listMetadata } from '../http/query.ts';
import { UUID_PATTERN, uuid } from '../http/uuid.ts';
import { waitParameter } from '../http/wait.ts';
import { readD1 } from '../storage/d1.ts';
import { given, keysetPage, readPage, withinShare } from '../storage/page.ts';
import { statementOf, statementsOf } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import {
  MAX_NAME_CHARACTERS,
  millisecondFrom,
  NAME_PATTERN,
  name,
  timestamp,
} from './catalogue.ts';
import { pendingEvent } from './resource.ts';
import { events } from './table.ts';

const MAX_KINDS = 50;

/** The order in which D1 committed the events, or its reverse. */
const eventOrder = described(
  z.enum(['asc', 'desc']).default('desc'),
  '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
);

type EventOrder = z.output<typeof eventOrder>;

/**
 * Makes the schema of a parameter that lists values. The output is the JSON text of a list, with each value once and in
 * the order of their code units, so that equal lists have equal outputs and a statement can bind it as one value.
 */
function valueList(value: z.ZodType<string, string>, max: number, noun: string) {
  const values = z.array(value).superRefine((values, context) => {
    if (values.length <= max) return;
    // As a problem of an entry: the parameter as a whole may be repeated.
    context.addIssue({ code: 'custom', path: [max], message: `must be at most ${max} ${noun}` });
  });
  return listedTexts.pipe(values).transform((asked) => JSON.stringify([...new Set(asked)].sort()));
}

/** A kind that the catalogue does not have is allowed: earlier events may have it. */
const kinds = valueList(name, MAX_KINDS, 'kinds');

const ids = valueList(uuid, MAX_PAGE_SIZE, 'ids');

/** The numbers 0 to 99 as rows. D1 does not count them as read; it counts each row of `json_each`. */
const NUMBERS = sql.raw(
  `(values ${Array.from({ length: MAX_PAGE_SIZE }, (_, number) => `(${number})`)}) as number`,
);

type Filter = {
  /** Validates the parameter. Two values with the same meaning have the same output. */
  schema: z.ZodType<string | number | undefined>;
  /** The table that is read before the events. */
  from?: SQL;
  /** The condition that a row must meet; the value is bound to it later. */
  condition(value: SQL): SQL;
};

/** Query parameter → filter. */
const FILTERS = {
  id: {
    schema: ids.exactOptional().register(z.globalRegistry, {
      description: 'Only the stored events with these ids: comma-separated, repeated, or both.',
      ...listMetadata({ pattern: UUID_PATTERN, minLength: 36, maxLength: 36 }, MAX_PAGE_SIZE),
    }),
    // Looks each id up by its index. The events found are sorted, which reads each of them once more.
    from: sql`${NUMBERS} cross join `,
    condition: (ids) => sql`${events.id} = ${ids}->>number.column1`,
  },
  type: {
    schema: kinds.exactOptional().register(z.globalRegistry, {
      description: 'Only events of these kinds: comma-separated, repeated, or both.',
      ...listMetadata(
        { minLength: 1, maxLength: MAX_NAME_CHARACTERS, pattern: NAME_PATTERN },
        MAX_KINDS,
      ),
    }),
    condition: (kinds) => sql`${events.type} in (select value from json_each(${kinds}))`,
  },
  aggregate_type: {
    schema: described(name.exactOptional(), 'Only events about this kind of entity.'),
    condition: (type) => eq(events.aggregate_type, type),
  },
  aggregate_id: {
    schema: described(name.exactOptional(), 'Only events about this entity.'),
    condition: (id) => eq(events.aggregate_id, id),
  },
  created_after: {
    schema: described(
      timestamp.transform((text) => Date.parse(text)).exactOptional(),
      'Only events accepted after this time.',
    ),
    condition: (time) => gt(events.created_at, time),
  },
  created_before: {
    schema: described(
      timestamp.transform(millisecondFrom).exactOptional(),
      'Only events accepted before this time.',
    ),
    condition: (time) => lt(events.created_at, time),
  },
} satisfies Record<string, Filter>;

type FilterName = keyof typeof FILTERS;

/** The filters of a request, in canonical form: equal filters have equal JSON texts. An event must pass all of them. */
type EventFilters = { [Name in FilterName]?: string | number };

const filters = Object.entries<Filter>(FILTERS);

/** Query parameter → its schema. */
const filterParameters = Object.fromEntries(
  filters.map(([name, { schema }]) => [name, schema]),
) as { [Name in FilterName]: (typeof FILTERS)[Name]['schema'] };

/** Returns the tables and conditions of the given filters. Each value is bound under its parameter's name. */
function partsOf(asked: EventFilters): { from: SQL; condition: SQL } {
  const own = filters.filter(([name]) => name in asked);
  const tables = own.flatMap(([, { from }]) => from ?? []);
  const conditions = own.map(([name, { condition }]) => condition(given(name)));
  const condition = and(...conditions) ?? sql`true`;
  return { from: sql`${sql.join(tables)}${events}`, condition };
}

/** The query parameters of the list. A list of ids is a page of all of them unless `limit` is sent. */
export const listParameters = z
  .object({
    order: eventOrder,
    ...filterParameters,
    after_id: described(
      uuid.exactOptional(),
      'Only events after the event with this id, in the chosen order.',
    ),
    limit: described(
      pagingParameters.limit.unwrap().exactOptional(),
      'Items per page; with `id` the default is 100.',
    ),
    cursor: described(
      pagingParameters.cursor.unwrap().optional(),
      'The `next_cursor` or the `resume_cursor` of an earlier answer, unchanged and with the same filters; `limit` and `wait` may change.',
    ),
    wait: waitParameter('order=asc', 'an event'),
  })
  .refine(({ wait, order }) => wait === undefined || order === 'asc', {
    path: ['wait'],
    error: 'needs order=asc',
  });

/** Returns the size of a page. */
export function pageSizeOf({ limit, id }: { limit?: number; id?: unknown }): number {
  return limit ?? (id === undefined ? DEFAULT_PAGE_SIZE : MAX_PAGE_SIZE);
}

type EventPageRequest = EventFilters & {
  order: EventOrder;
  limit: number;
  /** The position after which the page begins. */
  after_seq?: number | undefined;
  /** The event after which the page begins, when there is no `after_seq`. */
  after_id?: string | undefined;
};

/** Comes before every position in its order. */
const BEGINNING = { asc: 0, desc: Number.MAX_SAFE_INTEGER };

/** A page of events as JSON texts. */
type EventPage = {
  documents: string[];
  hasMore: boolean;
  /** The position after which to go on: no event between the page and it passes the filters. */
  resume: number;
  /** The generation of the database: a position means nothing in another one. */
  generation: string;
};

/** Reads one page in one round trip. Returns undefined when no event has the id `after_id`. */
export async function findEvents(
  database: D1Database,
  { order, limit, after_seq, after_id, ...filters }: EventPageRequest,
): Promise<EventPage | undefined> {
  const begin = after_seq === undefined && after_id !== undefined ? 'id' : 'seq';
  const statement = pageStatement({ order, filters, begin });
  const after0 = after_seq ?? after_id ?? BEGINNING[order];
  let state: StreamState | undefined;
  const { items, next } = await readPage(
    limit,
    async (size) => {
      const [first, page] = await readD1(() =>
        database.batch<StreamState & EventPageRow>([
          STATE.bindTo(database, { after_id: after_id ?? '' }),
          statement.bindTo(database, { ...filters, after0, ...size }),
        ]),
      );
      state = first?.results[0];
      return page?.results ?? [];
    },
    documentOf,
  );
  if (state === undefined) throw new Error('The database has no identity.');
  const { generation, anchor, newest } = state;
  if (after_id !== undefined && anchor === null) return undefined;

  const documents = items.map(({ document }) => document);
  if (next !== undefined) return { documents, hasMore: true, resume: next.seq, generation };
  const behind = after_seq ?? anchor ?? BEGINNING[order];
  const last = items.at(-1)?.row.seq ?? behind;
  const resume = order === 'asc' ? Math.max(newest, behind) : last;
  return { documents, hasMore: false, resume, generation };
}

/** Reads one event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && documentOf(row);
}

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: a list cannot go on from an event that does not exist. */
export function unknownAfterId(): ApiError {
  const path = 'after_id';
  return validationError([{ path, field: path, message: 'must be the id of an existing event' }]);
}

type EventRow = typeof events.$inferSelect;

/** An event without the columns that only an ingest needs. `payload` is null when the page cannot hold it. */
type EventPageRow = Omit<EventRow, 'key_id' | 'fingerprint' | 'receipt' | 'payload'> & {
  payload: string | null;
};

const { seq, payload } = events;

const columns = sql`${events.id}, ${events.type}, ${events.aggregate_type},
  ${events.aggregate_id}, ${events.created_at}, ${events.received_from}, ${events.erased_at}`;

type StreamState = { generation: string; anchor: number | null; newest: number };

/** The generation of the database, and the positions of `after_id` and of the newest event. */
const STATE = statementOf(
  sql<StreamState>`select ${databaseIdentity.generation},
    (select ${seq} from ${events} where ${events.id} = ${given('after_id')}) as anchor,
    (select coalesce(max(${seq}), 0) from ${events}) as newest
    from ${databaseIdentity}`,
);

const EVENT = statementOf(
  sql<EventPageRow>`select ${seq}, ${columns}, ${payload} from ${events} where ${events.id} = ${given('id')}`,
);

type Shape = { order: EventOrder; filters: EventFilters; begin: 'seq' | 'id' };

/** Statements of one shape differ in their values only. */
const pageStatement = statementsOf(pageQuery, ({ order, filters, begin }) =>
  [order, begin, ...Object.keys(filters)].join(),
);

/** The page begins after a position, or after the event with an id. */
function pageQuery({ order, filters, begin }: Shape): SQL<EventPageRow> {
  const { from, condition } = partsOf(filters);
  const after = sql`(select ${seq} from ${events} where ${events.id} = ${given('after0')})`;
  return keysetPage<EventPageRow>({
    columns: sql`${columns}, ${withinShare(payload)} as payload`,
    from,
    ranges: [condition],
    order: [seq],
    direction: order,
    ...(begin === 'id' && { after }),
  });
}

/** Writes a stored event as JSON text, with the payload as it is stored. */
function documentOf({ payload, ...row }: EventPageRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  const head = JSON.stringify({ ...pendingEvent(row), ...stored });
  return `${head.slice(0, -1)},"payload":${payload}}`;
}
