/** Reads events, from the primary: a caller finds the event of its 202. */

import { and, asc, desc, eq, getTableColumns, gt, gte, lt, lte, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import {
  DEFAULT_PAGE_SIZE,
  decodeCursor,
  encodeCursor,
  invalidCursor,
  jsonWithField,
  listJson,
  MAX_PAGE_SIZE,
} from '../http/paging.ts';
import { readD1 } from '../storage/d1.ts';
import { nullIfOversized, readPage } from '../storage/page.ts';
import { createStatement, placeholder, queryBuilder } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import {
  type EventFilters,
  FILTER_ENTRIES,
  type ListParameters,
  WANTED_IDS,
} from './parameters.ts';
import { makeEventResource } from './store.ts';
import { events } from './table.ts';

/** In one generation of the database: the event `seq`, or a number between two events. */
type EventPosition = { generation: string; seq: number };

const eventPosition: z.ZodType<EventPosition> = z
  .tuple([z.string(), z.int().min(0)])
  .transform(([generation, seq]) => ({ generation, seq }));

/** The filters, the order and `after_id` of a request: a cursor is valid with the same ones only. */
type Query = Omit<ListParameters, 'limit' | 'cursor' | 'wait'>;

const scopeOf = (query: Query) => ({ list: 'events', filters: query });

/** Throws `invalid_cursor` unless the cursor is of the list with this query. */
export function decodeEventPosition(
  cursor: string | undefined,
  query: Query,
): EventPosition | undefined {
  return decodeCursor(cursor, scopeOf(query), eventPosition);
}

/** `isDrained`: no event, and the end of the list. An ascending list continues at `position`. */
export type EventPage = { json: string; isDrained: boolean; position: EventPosition };

/**
 * Returns the page after a position, or the first one, as JSON text of an `EventList`, in one round
 * trip. Throws `invalid_cursor` for a position of another generation, and a `validation_error` for
 * an unknown `after_id`.
 */
export async function readEvents(
  database: D1Database,
  query: Query,
  sentLimit: number | undefined,
  after: EventPosition | undefined,
): Promise<EventPage> {
  const { order, after_id, ...filters } = query;
  // All events that `id` can name fit on a page.
  const limit = sentLimit ?? (filters.id === undefined ? DEFAULT_PAGE_SIZE : MAX_PAGE_SIZE);
  const { state, documents, last, hasMore } = await readPage({
    connection: database,
    ...makeStatements(query, after !== undefined),
    values: { ...filters, after_id, after: after?.seq },
    limit,
    format: formatEvent,
  });
  const { generation, newest, start, end } = state;
  // In another generation, the event was undone, and its position may be assigned again.
  if (after !== undefined && after.generation !== generation) throw invalidCursor();
  if (start === null) throw unknownAfterId();

  // A page that is not full ends with its span. The list goes on unless it ends there too.
  const { step } = ORDERS[order];
  const goesOn = isScan(filters) && step * (Math.min(end, newest) - start) > MAX_SPAN;
  const endOfSpan = goesOn ? start + step * MAX_SPAN : undefined;
  const next = hasMore ? last?.seq : endOfSpan;
  const cursorAt = (seq: number, as: Query['order']) =>
    encodeCursor(scopeOf({ ...query, order: as }), [generation, seq]);
  const next_cursor = next === undefined ? null : cursorAt(next, order);
  // `newest` is read in the page's transaction: no event between the page and `newest` is listed.
  const resume = order === 'asc' ? (next ?? Math.max(newest, start)) : newest;
  // It leads to later events, so it has the order `asc`. A later page of `desc` has no newest event.
  const isBackwards = order === 'desc' && after !== undefined;
  const resume_cursor = isBackwards ? null : cursorAt(resume, 'asc');
  return {
    json: listJson(documents, next_cursor, { resume_cursor }),
    isDrained: documents.length === 0 && next === undefined,
    position: { generation, seq: resume },
  };
}

/** Reads an event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && formatEvent(row);
}

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: no event has the id `after_id`. */
function unknownAfterId(): ApiError {
  const path = 'after_id';
  return validationError([{ path, field: path, message: 'must be the id of an existing event' }]);
}

const { seq, payload, key_id, fingerprint, receipt, ...sentColumns } = getTableColumns(events);

const EVENT = createStatement(
  queryBuilder
    .select({ seq, ...sentColumns, payload })
    .from(events)
    .where(eq(events.id, sql.placeholder('id'))),
);

/** How many `seq` a page of a scan covers. */
const MAX_SPAN = 10_000;

/** Whether no index bounds the rows that a page reads. */
function isScan(filters: EventFilters): boolean {
  const isIndexed = 'id' in filters || 'aggregate_id' in filters;
  return !isIndexed && Object.keys(filters).length > 0;
}

const NEWEST = sql<number>`(select coalesce(max(${seq}), 0) from ${events})`;
const ANCHOR = sql`(select ${seq} from ${events} where ${events.id} = ${placeholder('after_id')})`;
/** Greater than any `seq`. */
const BEYOND = sql`${Number.MAX_SAFE_INTEGER}`;

/**
 * A list begins after its bound `from`, and ends before its bound `to`. Of two positions, `further`
 * is the later one in this order. An ascending list has no need of its last event.
 */
const ORDERS = {
  asc: {
    step: 1,
    sort: asc,
    follows: gt,
    reaches: lte,
    further: sql`max`,
    nearer: sql`min`,
    from: 'lowest',
    to: 'highest',
    highest: BEYOND,
  },
  desc: {
    step: -1,
    sort: desc,
    follows: lt,
    reaches: gte,
    further: sql`min`,
    nearer: sql`max`,
    from: 'highest',
    to: 'lowest',
    highest: sql`${NEWEST} + 1`,
  },
} as const;

/** Compiled for each request, because the conditions depend on the filters. */
function makeStatements(query: Query, hasPosition: boolean) {
  const { order, after_id, ...filters } = query;
  const { sort, follows } = ORDERS[order];
  const { start, end, pageEnd } = selectEnds(query, hasPosition);
  const conditions = FILTER_ENTRIES.filter(([name]) => name in filters).map(
    ([name, { condition }]) => condition(placeholder(name)),
  );
  // The events of the list come after `start`, in its order, up to `end`, both included in `seq`.
  const state = queryBuilder
    .select({
      generation: databaseIdentity.generation,
      newest: NEWEST.as('newest'),
      start: sql<number | null>`${start}`.as('start'),
      end: sql<number>`${end}`.as('end'),
    })
    .from(databaseIdentity);
  const columns = { seq, ...sentColumns, payload: nullIfOversized(payload).as('payload') };
  const select = queryBuilder.select(columns);
  const page = ('id' in filters ? select.from(WANTED_IDS).crossJoin(events) : select.from(events))
    .where(and(...conditions, follows(seq, start), pageEnd))
    .orderBy(sort(seq))
    .limit(sql.placeholder('maxRows'));
  return { state: createStatement(state), page: createStatement(page) };
}

/** Clocks differ, and an event is committed a few seconds after its `created_at`. */
const CLOCK_SKEW_MS = 60_000;

/** `pageEnd` is the condition that ends a page of a scan. */
function selectEnds({ order, after_id, ...filters }: Query, hasPosition: boolean) {
  const { step, reaches, further, nearer, from, to, highest } = ORDERS[order];
  const bounds = { lowest: sql`0`, highest: BEYOND };
  if (isScan(filters)) {
    const after = sql`${placeholder('created_after')} - ${CLOCK_SKEW_MS}`;
    const before = sql`${placeholder('created_before')} + ${CLOCK_SKEW_MS}`;
    if ('created_after' in filters) bounds.lowest = bisect(after, 'max(low)');
    bounds.highest = 'created_before' in filters ? bisect(before, 'min(high)') : highest;
  }
  const end = sql`${bounds[to]} - ${step}`;
  // With NULL, for an unknown `after_id`, both functions return NULL.
  const first = after_id === undefined ? bounds[from] : sql`${further}(${ANCHOR}, ${bounds[from]})`;
  const start = hasPosition ? placeholder('after') : first;
  const reach = reaches(seq, sql`${nearer}(${start} + ${step * MAX_SPAN}, ${end})`);
  return { start, end, pageEnd: isScan(filters) ? reach : undefined };
}

/**
 * Bisects the events by `created_at`, which rises with `seq` but for clock skew: 20 steps for a
 * million. Events up to `low` were accepted by this time, and those from `high` on after it. Whole
 * SQL, because the builder has no recursion.
 */
function bisect(time: SQL, result: 'max(low)' | 'min(high)'): SQL {
  const isEarly = sql`${events.created_at} <= ${time}`;
  return sql`(with recursive halves(low, high) as (
      select 0, ${NEWEST} + 1
      union all
      select iif(${isEarly}, ${seq}, low), iif(${isEarly}, high, ${seq})
      from halves cross join ${events} on ${seq} = (low + high) / 2 where high - low > 1
    ) select ${sql.raw(result)} from halves)`;
}

type EventRow = Awaited<ReturnType<ReturnType<typeof makeStatements>['page']['rows']>>[number];

/** `payload` is null if it was too large. */
function formatEvent({ payload, ...row }: EventRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  return jsonWithField({ ...makeEventResource(row), ...stored }, 'payload', payload);
}
