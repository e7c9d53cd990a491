/**
 * Reading events back, in the order in which they were committed.
 *
 * Always from the primary, never from a replica: whoever has just been told that an event is
 * accepted finds it, and an `after_id` just read is known.
 */

import { and, asc, desc, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readD1 } from '../storage/d1.ts';
import { events } from './table.ts';

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

export type PageRequest = Filters & { limit: number; afterSeq?: number };

export type Page = {
  /** Wire resources as JSON texts. */
  documents: string[];
  /** The place of the last event when more follow, else null. */
  next: number | null;
};

/** One page in one round trip; undefined when there is no event `afterId`. */
export async function findEvents(
  database: D1Database,
  request: PageRequest,
): Promise<Page | undefined> {
  const db = drizzle(database);
  const { afterId } = request;
  const page = pageQuery(database, request);
  if (afterId === undefined) return pageOf(await readD1(() => page), request.limit);
  const anchor = db.select({ seq: events.seq }).from(events).where(eq(events.id, afterId));
  const [anchors, rows] = await readD1(() => db.batch([anchor, page]));
  return anchors.length === 0 ? undefined : pageOf(rows, request.limit);
}

/** One event as JSON text. `id` in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() =>
    drizzle(database).select().from(events).where(eq(events.id, id)),
  );
  return row && documentOf(row);
}

/**
 * `limit + 1` rows. A hundred of the largest events would not fit into a Worker's memory: a payload
 * that exceeds its share of a page is given only with the page's first row.
 */
function pageQuery(database: D1Database, request: PageRequest) {
  const db = drizzle(database);
  const inOrder = request.order === 'asc' ? asc(events.seq) : desc(events.seq);
  const condition = conditionOf(request);
  const first = db
    .select({ seq: events.seq })
    .from(events)
    .where(condition)
    .orderBy(inOrder)
    .limit(1);
  const share = Math.floor(MAX_PAGE_CHARACTERS / request.limit);
  const isGiven = sql`length(${events.payload}) <= ${share} or ${events.seq} = (${first})`;
  return db
    .select({
      seq: events.seq,
      id: events.id,
      type: events.type,
      aggregateType: events.aggregateType,
      aggregateId: events.aggregateId,
      createdAt: events.createdAt,
      payload: sql<string | null>`case when ${isGiven} then ${events.payload} end`.as(
        'given_payload',
      ),
    })
    .from(events)
    .where(condition)
    .orderBy(inOrder)
    .limit(request.limit + 1);
}

function conditionOf(request: PageRequest): SQL | undefined {
  const follows = request.order === 'asc' ? gt : lt;
  const { type, aggregateType, aggregateId, createdAfter, createdBefore } = request;
  const { afterSeq, afterId } = request;
  return and(
    type === undefined ? undefined : eq(events.type, type),
    aggregateType === undefined ? undefined : eq(events.aggregateType, aggregateType),
    aggregateId === undefined ? undefined : eq(events.aggregateId, aggregateId),
    createdAfter === undefined ? undefined : gt(events.createdAt, createdAfter),
    createdBefore === undefined ? undefined : lt(events.createdAt, createdBefore),
    afterSeq === undefined ? undefined : follows(events.seq, afterSeq),
    afterId === undefined
      ? undefined
      : follows(events.seq, sql`(select seq from ${events} where id = ${afterId})`),
  );
}

type Row = Awaited<ReturnType<typeof pageQuery>>[number];

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
function documentOf(row: Omit<Row, 'payload'> & { payload: string }): string {
  const head = JSON.stringify({
    object: 'event',
    id: row.id,
    type: row.type,
    status: 'pending',
    created_at: new Date(row.createdAt).toISOString(),
    aggregate_id: row.aggregateId,
    aggregate_type: row.aggregateType,
  });
  return `${head.slice(0, -1)},"payload":${row.payload}}`;
}
