/**
 * Reads events from the primary database, so that callers can read an event as soon as they have
 * received its 202.
 */

import { and, asc, desc, eq, getTableColumns, gt, gte, lt, lte, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import {
  DEFAULT_PAGE_SIZE,
  decodeCursor,
  encodeCursor,
  invalidCursor,
  MAX_PAGE_SIZE,
  writePage,
  writeWithField,
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

/**
 * A position in the list, in one generation of the database (src/storage/table.ts). `seq` may be a
 * number that no event has.
 */
type EventPosition = { generation: string; seq: number };

const eventPosition: z.ZodType<EventPosition> = z
  .tuple([z.string(), z.int().min(0)])
  .transform(([generation, seq]) => ({ generation, seq }));

/** The filters, the order and `after_id` of a request. A cursor is valid only with the same query. */
type Query = Omit<ListParameters, 'limit' | 'cursor' | 'wait'>;

const makeScope = (query: Query) => ({ list: 'events', filters: query });

/** Decodes a cursor. Throws `invalid_cursor` if it belongs to another query or another list. */
export function decodeEventPosition(
  cursor: string | undefined,
  query: Query,
): EventPosition | undefined {
  return decodeCursor(cursor, makeScope(query), eventPosition);
}

/** A page of the list. An ascending list continues at `position`. */
export type EventPage = {
  json: string;
  /** Whether the page is empty because the list has ended. */
  isEnd: boolean;
  position: EventPosition;
};

/**
 * Reads the page after a position, or the first page, in one round trip. The page is JSON text of an
 * `EventList`. Throws `invalid_cursor` for a position from another generation, and `validation_error`
 * for an unknown `after_id`.
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
  // A rewind may have undone the event at this position, which may be assigned to another event.
  if (after !== undefined && after.generation !== generation) throw invalidCursor();
  if (start === null) throw makeUnknownAfterIdError();

  // A scan ends with its range, even if the page is not full. The list may continue after the range.
  const { step } = ORDERS[order];
  const isRangeFull =
    isScan(filters) && step * (Math.min(end, newest) - start) > MAX_SCANNED_EVENTS;
  const rangeEnd = isRangeFull ? start + step * MAX_SCANNED_EVENTS : undefined;
  const next = hasMore ? last?.seq : rangeEnd;
  const makeCursor = (seq: number, cursorOrder: Query['order']) =>
    encodeCursor(makeScope({ ...query, order: cursorOrder }), [generation, seq]);
  const next_cursor = next === undefined ? null : makeCursor(next, order);
  // `newest` is read in the page's transaction, so no event between the page and `newest` is lost.
  const resume = order === 'asc' ? (next ?? Math.max(newest, start)) : newest;
  // `resume_cursor` selects later events, so its order is `asc`. Later pages of a `desc` list do not have it.
  const isLaterPageOfDesc = order === 'desc' && after !== undefined;
  const resume_cursor = isLaterPageOfDesc ? null : makeCursor(resume, 'asc');
  return {
    json: writePage(documents, next_cursor, { resume_cursor }),
    isEnd: documents.length === 0 && next === undefined,
    position: { generation, seq: resume },
  };
}

/** Reads an event as JSON text. `id` must be in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && formatEvent(row);
}

/** Builds the 404 `resource_missing`. */
export function eventNotFound(): ApiError {
  return resourceMissing('There is no such event.');
}

/** Builds the 400 `validation_error` for an `after_id` that no event has. */
function makeUnknownAfterIdError(): ApiError {
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

/** Maximum number of events that a page scans, as a range of `seq`. */
const MAX_SCANNED_EVENTS = 10_000;

/** Whether a page must scan events, because no index serves its filters. */
function isScan(filters: EventFilters): boolean {
  const isIndexed = 'id' in filters || 'aggregate_id' in filters;
  return !isIndexed && Object.keys(filters).length > 0;
}

const NEWEST = sql<number>`(select coalesce(max(${seq}), 0) from ${events})`;
const ANCHOR = sql`(select ${seq} from ${events} where ${events.id} = ${placeholder('after_id')})`;
/** A number greater than every `seq`. */
const AFTER_ALL = sql`${Number.MAX_SAFE_INTEGER}`;

/**
 * The SQL of each order. A list of the events 1 to 9, for example:
 *
 *     order   begins after `from`   ends before `to`   events      after event 6
 *     asc     lowest = 0            highest = ∞        1, 2, … 9   7, 8, 9
 *     desc    highest = 9 + 1       lowest = 0         9, 8, … 1   5, 4, … 1
 *
 * `later` and `earlier` choose between two positions in the order of the list. Only a descending list
 * has to look up its highest position, because it begins there.
 */
const ORDERS = {
  asc: {
    step: 1,
    sort: asc,
    after: gt,
    atOrBefore: lte,
    later: sql`max`,
    earlier: sql`min`,
    from: 'lowest',
    to: 'highest',
    highest: AFTER_ALL,
  },
  desc: {
    step: -1,
    sort: desc,
    after: lt,
    atOrBefore: gte,
    later: sql`min`,
    earlier: sql`max`,
    from: 'highest',
    to: 'lowest',
    highest: sql`${NEWEST} + 1`,
  },
} as const;

/** Makes the statements of a page. They are compiled for each request, because they depend on its filters. */
function makeStatements(query: Query, hasPosition: boolean) {
  const { order, after_id, ...filters } = query;
  const { sort, after } = ORDERS[order];
  const { start, end, pageEnd } = selectEnds(query, hasPosition);
  const conditions = FILTER_ENTRIES.filter(([name]) => name in filters).map(
    ([name, { condition }]) => condition(placeholder(name)),
  );
  // The list has the events after `start`, up to and including `end`, in the order of the list.
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
    .where(and(...conditions, after(seq, start), pageEnd))
    .orderBy(sort(seq))
    .limit(sql.placeholder('maxRows'));
  return { state: createStatement(state), page: createStatement(page) };
}

/** Tolerance for clock differences, and for commits a few seconds after `created_at`. */
const CLOCK_SKEW_MS = 60_000;

/**
 * Builds the SQL for the start and the end of a list. For a scan, also builds `pageEnd`, the condition
 * that ends the page.
 */
function selectEnds({ order, after_id, ...filters }: Query, hasPosition: boolean) {
  const { step, atOrBefore, later, earlier, from, to, highest } = ORDERS[order];
  const bounds = { lowest: sql`0`, highest: AFTER_ALL };
  if (isScan(filters)) {
    const minTime = sql`${placeholder('created_after')} - ${CLOCK_SKEW_MS}`;
    const maxTime = sql`${placeholder('created_before')} + ${CLOCK_SKEW_MS}`;
    if ('created_after' in filters) bounds.lowest = bisect(minTime, 'max(low)');
    bounds.highest = 'created_before' in filters ? bisect(maxTime, 'min(high)') : highest;
  }
  const end = sql`${bounds[to]} - ${step}`;
  // For an unknown `after_id`, the anchor is NULL, and so are `min` and `max`.
  const first = after_id === undefined ? bounds[from] : sql`${later}(${ANCHOR}, ${bounds[from]})`;
  const start = hasPosition ? placeholder('after') : first;
  const rangeEnd = sql`${earlier}(${start} + ${step * MAX_SCANNED_EVENTS}, ${end})`;
  return { start, end, pageEnd: isScan(filters) ? atOrBefore(seq, rangeEnd) : undefined };
}

/**
 * Finds a time among the events by bisection, because `created_at` rises with `seq` except for clock
 * skew. A million events take 20 steps. Events up to `low` were accepted by this time, and events from
 * `high` onwards after it. The statement is written in SQL, because Drizzle's builder does not support
 * recursion.
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

/**
 * Formats an event as JSON text. Returns undefined if `payload` is null, because it is too large for
 * the page.
 */
function formatEvent({ payload, ...row }: EventRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  return writeWithField({ ...makeEventResource(row), ...stored }, 'payload', payload);
}
