/**
 * Reads events in the order in which they were committed.
 *
 * Every read goes to the primary, never to a replica: a caller that has just been told of an event
 * must find it, and an `after_id` that it has just read must be known.
 */

import { and, eq, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import {
  byteLengthOf,
  itemOf,
  lastThatFits,
  NO_ID,
  type Place,
  shareOfPage,
  takePage,
} from '../storage/page-bound.ts';
import { limited, type RowOf, statementOf, statementsOf } from '../storage/statement.ts';
import { conditionsOf, type EventFilters } from './filters.ts';
import { beginningOf, type EventOrder, isBehind, positionOf, sortedIn } from './order.ts';
import { pendingEvent, storedFields } from './resource.ts';
import { events } from './table.ts';

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
  const values = { ...request, rows: limit + 1, share: shareOfPage(limit) };
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
 * so a payload that ends up on no page of this size is null.
 */
function pageQuery({ order, limit: _, after_seq, ...filters }: EventPageRequest) {
  // Of two bounds on `seq`, SQLite begins to read at the first: it must be that of the cursor.
  const condition = and(
    after_seq === undefined ? undefined : isBehind(sql.placeholder('after_seq'), order),
    ...conditionsOf(filters, order),
  );
  const rows = sql.placeholder('rows');
  const bytes = sql<number>`octet_length(${events.payload})`;
  const start = after_seq === undefined ? beginningOf(order) : sql`${sql.placeholder('after_seq')}`;
  const next = ([seq]: Place) =>
    new QueryBuilder()
      .select({ item: itemOf(bytes, events.seq) })
      .from(events)
      .where(and(isBehind(seq, order), ...conditionsOf(filters, order)))
      .orderBy(sortedIn(order))
      .limit(1)
      .getSQL();
  const last = lastThatFits([start, NO_ID], next, rows);
  const payload = sql<string | null>`
    case when ${bytes} <= ${sql.placeholder('share')}
        or not ${isBehind(sql`(select item->>1 from (${last}))`, order)}
      then ${events.payload} end`;
  const page = new QueryBuilder()
    .select({ ...columns, bytes: bytes.as('bytes'), payload: payload.as('payload') })
    .from(events)
    .where(condition)
    .orderBy(sortedIn(order));
  return limited(page, rows);
}

function pageOf(rows: readonly PageRow[], limit: number): EventPage {
  const page = takePage(itemsOf(rows.slice(0, limit)));
  return {
    documents: page.map(({ json }) => json),
    next: rows.length > page.length ? (page.at(-1)?.seq ?? null) : null,
  };
}

/** Makes the events as JSON texts, up to the first without a payload, which the page cannot hold. */
function* itemsOf(rows: readonly PageRow[]) {
  for (const { bytes, payload, ...row } of rows) {
    if (payload === null) return;
    const head = headOf(row);
    yield { seq: row.seq, json: `${head}${payload}}`, bytes: byteLengthOf(head) + bytes + 1 };
  }
}

/** Writes a stored event as JSON text. The payload stands in it as it is stored. */
function documentOf({ payload, ...row }: RowOf<typeof EVENT>): string {
  return `${headOf(row)}${payload}}`;
}

/** Writes everything before the payload. */
function headOf(row: Omit<RowOf<typeof EVENT>, 'payload'>): string {
  const head = JSON.stringify({ ...pendingEvent(row), ...storedFields(row) });
  return `${head.slice(0, -1)},"payload":`;
}
