/**
 * Reads events in the order in which they were committed.
 *
 * Every read goes to the primary, never to a replica: a caller that has just been told of an event
 * must find it, and an `after_id` that it has just read must be known.
 */

import { and, eq, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import { limited, type RowOf, statementOf, statementsOf } from '../storage/statement.ts';
import { conditionsOf, type EventFilters } from './filters.ts';
import { type EventOrder, isBehind, positionOf, sortedIn } from './order.ts';
import { pendingEvent, storedFields } from './resource.ts';
import { events } from './table.ts';

/** The payloads of a page share this many characters in equal parts; only the first may exceed its part. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

export type EventPageRequest = EventFilters & {
  order: EventOrder;
  limit: number;
  /** The position that the page begins behind. */
  after_seq?: number;
};

export type EventPage = {
  /** JSON texts of stored events, in the order of the request. */
  documents: string[];
  /** The position of the last event when more follow, else null. */
  next: number | null;
};

/** Reads one page in one round trip. Returns undefined when no event has the id `after_id`. */
export async function findEvents(
  database: D1Database,
  request: EventPageRequest,
): Promise<EventPage | undefined> {
  const { limit, after_id } = request;
  const values = { ...request, rows: limit + 1, share: Math.floor(MAX_PAGE_CHARACTERS / limit) };
  const statement = pageStatement(request);
  if (after_id === undefined) {
    return pageOf(await readD1(() => statement.rows(database, values)), limit);
  }
  const [anchor, page] = await readD1(() =>
    database.batch<PageRow>([
      POSITION.bindTo(database, { after_id }),
      statement.bindTo(database, values),
    ]),
  );
  return anchor?.results.length === 0 ? undefined : pageOf(page?.results ?? [], limit);
}

/** Reads one event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && documentOf(row);
}

const columns = {
  seq: events.seq,
  id: events.id,
  type: events.type,
  aggregate_type: events.aggregate_type,
  aggregate_id: events.aggregate_id,
  created_at: events.created_at,
  received_from: events.received_from,
  erased_at: events.erased_at,
};

const POSITION = statementOf(positionOf(sql.placeholder('after_id')));

const EVENT = statementOf(
  new QueryBuilder()
    .select({ ...columns, payload: events.payload })
    .from(events)
    .where(eq(events.id, sql.placeholder('id'))),
);

/** Pages of one shape (the order, and the filters given) differ only in the values bound. */
const pageStatement = statementsOf(pageQuery, ({ limit: _, order, ...filters }) =>
  [order, ...Object.keys(filters)].join(),
);

type PageRow = RowOf<ReturnType<typeof pageStatement>>;

/**
 * Selects `limit + 1` rows. A hundred of the largest events do not fit into the memory of a Worker,
 * so a payload larger than its share of the page is null, except in the first row.
 */
function pageQuery({ order, limit: _, after_seq, ...filters }: EventPageRequest) {
  // Of two bounds on `seq`, SQLite begins to read at the first: it must be that of the cursor.
  const condition = and(
    after_seq === undefined ? undefined : isBehind(sql.placeholder('after_seq'), order),
    ...conditionsOf(filters, order),
  );
  const first = new QueryBuilder()
    .select({ seq: events.seq })
    .from(events)
    .where(condition)
    .orderBy(sortedIn(order))
    .limit(1);
  const payload = sql<string | null>`
    case when length(${events.payload}) <= ${sql.placeholder('share')} or ${events.seq} = (${first})
      then ${events.payload} end`;
  const page = new QueryBuilder()
    .select({ ...columns, payload: payload.as('payload') })
    .from(events)
    .where(condition)
    .orderBy(sortedIn(order));
  return limited(page, sql.placeholder('rows'));
}

/** Ends the page before the first row without a payload, which begins the next page. */
function pageOf(rows: readonly PageRow[], limit: number): EventPage {
  const documents: string[] = [];
  let last: number | null = null;
  for (const { payload, ...row } of rows.slice(0, limit)) {
    if (payload === null) break;
    documents.push(documentOf({ ...row, payload }));
    last = row.seq;
  }
  return { documents, next: rows.length > documents.length ? last : null };
}

/** Writes a stored event as JSON text. The payload stands in it as it is stored. */
function documentOf({ payload, ...row }: RowOf<typeof EVENT>): string {
  const head = JSON.stringify({ ...pendingEvent(row), ...storedFields(row) });
  return `${head.slice(0, -1)},"payload":${payload}}`;
}
