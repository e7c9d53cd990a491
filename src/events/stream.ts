/**
 * Reading events back, in the order in which they were committed.
 *
 * Always from the primary, never from a replica: whoever has just been told that an event is
 * accepted finds it, and an `after_id` just read is known.
 */

import { and, asc, desc, eq, gt, lt, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import { limited, statementOf, statementsOf } from '../storage/statement.ts';
import { events } from './table.ts';

/** Which events, in which order. All filters that are given must fit. */
export type Filters = {
  order: 'asc' | 'desc';
  type?: string;
  aggregateType?: string;
  aggregateId?: string;
  /** Exclusive bounds in milliseconds since the epoch. */
  createdAfter?: number;
  createdBefore?: number;
  /** Only events that follow this one in the order. */
  afterId?: string;
};

/** Of all payloads of a page but its first: a page ends before an event that exceeds its share. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

/** `afterSeq`: the place that the page begins behind. */
export type PageRequest = Filters & { limit: number; afterSeq?: number };

/** A page in its order. */
export type Page = {
  /** Wire resources as JSON texts. */
  documents: string[];
  /** The place of the last event when more follow, else null. */
  next: number | null;
};

type WholeRow = {
  seq: number;
  id: string;
  type: string;
  aggregate_type: string;
  aggregate_id: string;
  created_at: number;
  payload: string;
};

/** A row of a page: without its payload when that exceeds its share. */
type Row = Omit<WholeRow, 'payload'> & { payload: string | null };

/** One page in one round trip; undefined when there is no event `afterId`. */
export async function findEvents(
  database: D1Database,
  request: PageRequest,
): Promise<Page | undefined> {
  const { order: _, limit, ...filters } = request;
  const share = Math.floor(MAX_PAGE_CHARACTERS / limit);
  const values = { ...filters, rows: limit + 1, share };
  const page = () => pageStatement(request).bindTo(database, values);
  const { afterId } = filters;
  if (afterId === undefined) {
    const { results } = await readD1(() => page().all<Row>());
    return pageOf(results, limit);
  }
  const [anchor, found] = await readD1(() =>
    database.batch<Row>([PLACE.bindTo(database, { afterId }), page()]),
  );
  return anchor?.results.length === 0 ? undefined : pageOf(found?.results ?? [], limit);
}

/** One event as JSON text. `id` in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const { results } = await readD1(() => BY_ID.bindTo(database, { id }).all<WholeRow>());
  return results[0] && documentOf(results[0]);
}

const given = (name: string) => sql.placeholder(name);

const columns = {
  seq: events.seq,
  id: events.id,
  type: events.type,
  aggregate_type: events.aggregate_type,
  aggregate_id: events.aggregate_id,
  created_at: events.created_at,
};

const PLACE = statementOf(placeOf(given('afterId')));

const BY_ID = statementOf(
  new QueryBuilder()
    .select({ ...columns, payload: events.payload })
    .from(events)
    .where(eq(events.id, given('id'))),
);

/** Pages of one shape (the order, and which filters there are) differ in values only. */
const pageStatement = statementsOf(pageQuery, ({ limit: _, order, ...filters }) =>
  [order, ...Object.keys(filters)].join(),
);

/**
 * `limit + 1` rows. A hundred of the largest events would not fit into a Worker's memory: a payload
 * that exceeds its share of a page is given only with the page's first row.
 */
function pageQuery(request: PageRequest) {
  const inOrder = request.order === 'asc' ? asc(events.seq) : desc(events.seq);
  const condition = conditionOf(request);
  const first = new QueryBuilder()
    .select({ seq: events.seq })
    .from(events)
    .where(condition)
    .orderBy(inOrder)
    .limit(1);
  const isGiven = sql`length(${events.payload}) <= ${given('share')} or ${events.seq} = (${first})`;
  const payload = sql`case when ${isGiven} then ${events.payload} end`.as('payload');
  const page = new QueryBuilder()
    .select({ ...columns, payload })
    .from(events)
    .where(condition)
    .orderBy(inOrder);
  return limited(page, given('rows'));
}

/** Where an event stands in the order; no row when there is none of that id. */
function placeOf(id: Placeholder) {
  return new QueryBuilder().select({ seq: events.seq }).from(events).where(eq(events.id, id));
}

function conditionOf(request: PageRequest): SQL | undefined {
  const follows = request.order === 'asc' ? gt : lt;
  const has = (name: keyof PageRequest) => request[name] !== undefined;
  return and(
    has('type') ? eq(events.type, given('type')) : undefined,
    has('aggregateType') ? eq(events.aggregate_type, given('aggregateType')) : undefined,
    has('aggregateId') ? eq(events.aggregate_id, given('aggregateId')) : undefined,
    has('createdAfter') ? gt(events.created_at, given('createdAfter')) : undefined,
    has('createdBefore') ? lt(events.created_at, given('createdBefore')) : undefined,
    has('afterSeq') ? follows(events.seq, given('afterSeq')) : undefined,
    has('afterId') ? follows(events.seq, placeOf(given('afterId'))) : undefined,
  );
}

function pageOf(rows: readonly Row[], limit: number): Page {
  const documents: string[] = [];
  let last: number | null = null;
  for (const { payload, ...row } of rows.slice(0, limit)) {
    if (payload === null) break;
    documents.push(documentOf({ ...row, payload }));
    last = row.seq;
  }
  return { documents, next: rows.length > documents.length ? last : null };
}

/** A `StoredEventResource`; the payload's text stands in it as it was stored. */
function documentOf(row: WholeRow): string {
  const head = JSON.stringify({
    object: 'event',
    id: row.id,
    type: row.type,
    status: 'pending',
    created_at: new Date(row.created_at).toISOString(),
    aggregate_id: row.aggregate_id,
    aggregate_type: row.aggregate_type,
  });
  return `${head.slice(0, -1)},"payload":${row.payload}}`;
}
