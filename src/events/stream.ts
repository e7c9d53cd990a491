/**
 * Reads events in the order in which they were committed.
 *
 * Every read goes to the primary, never to a replica: a caller that has just been told of an event
 * must find it, and an `after_id` that it has just read must be known.
 */

import { type SQL, sql } from 'drizzle-orm';
import { readD1 } from '../storage/d1.ts';
import {
  given,
  type Page,
  ROWS,
  SHARE,
  takePage,
  valuesOfPage,
  WALKED,
  withLastThatFits,
} from '../storage/page.ts';
import { statementOf, statementsOf } from '../storage/statement.ts';
import { conditionsOf, type EventFilters, type EventOrder } from './filters.ts';
import { pendingEvent, storedFields } from './resource.ts';
import { events } from './table.ts';

export type EventPageRequest = EventFilters & {
  order: EventOrder;
  limit: number;
  /** The position that the page begins behind. */
  after_seq?: number | undefined;
  /** The event that the page begins behind, unless `after_seq` says where. */
  after_id?: string | undefined;
};

/** Comes before every position in its order. */
const BEGINNING = { asc: 0, desc: Number.MAX_SAFE_INTEGER };

/**
 * Reads one page in one round trip, as JSON texts of stored events. Returns undefined when no event has the id
 * `after_id`.
 */
export async function findEvents(
  database: D1Database,
  { order, limit, after_seq, after_id, ...filters }: EventPageRequest,
): Promise<Page<number> | undefined> {
  const pageOf = (rows: readonly PageRow[]) => {
    const { documents, end } = takePage(rows, limit, documentOf);
    return { documents, next: end?.seq ?? null };
  };
  const values = { ...filters, ...valuesOfPage(limit) };
  if (after_id === undefined) {
    const statement = pageStatement({ order, filters, begin: 'seq' });
    const start = after_seq ?? BEGINNING[order];
    return pageOf(await readD1(() => statement.rows(database, { ...values, start })));
  }
  const statement = pageStatement({
    order,
    filters,
    begin: after_seq === undefined ? 'id' : 'seq',
  });
  const start = after_seq ?? after_id;
  const [anchor, page] = await readD1(() =>
    database.batch<PageRow>([
      ANCHOR.bindTo(database, { after_id }),
      statement.bindTo(database, { ...values, start }),
    ]),
  );
  return anchor?.results.length === 0 ? undefined : pageOf(page?.results ?? []);
}

/** Reads one event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && documentOf(row);
}

type EventRow = typeof events.$inferSelect;

/** An event without the columns that only an ingest needs. `payload` is null when the page cannot hold it. */
type PageRow = Omit<EventRow, 'key_id' | 'fingerprint' | 'receipt' | 'payload'> & {
  payload: string | null;
};

const { seq, payload } = events;

const columns = sql`${seq}, ${events.id}, ${events.type}, ${events.aggregate_type},
  ${events.aggregate_id}, ${events.created_at}, ${events.received_from}, ${events.erased_at}`;

const ANCHOR = statementOf(
  sql<PageRow>`select ${seq} from ${events} where ${events.id} = ${given('after_id')}`,
);

const EVENT = statementOf(
  sql<PageRow>`select ${columns}, ${payload} from ${events} where ${events.id} = ${given('id')}`,
);

type Shape = { order: EventOrder; filters: EventFilters; begin: 'seq' | 'id' };

/** Pages of one shape differ only in the values bound. */
const pageStatement = statementsOf(pageQuery, ({ order, filters, begin }) =>
  [order, begin, ...Object.keys(filters)].join(),
);

/** Selects a page, and the event behind it. `start` is the position that it begins behind, or an event's id. */
function pageQuery({ order, filters, begin }: Shape): SQL<PageRow> {
  const start =
    begin === 'seq'
      ? given('start')
      : sql`(select ${seq} from ${events} where ${events.id} = ${given('start')})`;
  const isBehind = sql.raw(order === 'asc' ? '>' : '<');
  const isUpTo = sql.raw(order === 'asc' ? '<=' : '>=');
  const conditions = conditionsOf(filters).map((condition) => sql` and ${condition}`);
  const listed = (columns: SQL, after: SQL) => sql`
    select ${columns} from ${events} where ${seq} ${isBehind} ${after}${sql.join(conditions)}
    order by ${seq} ${sql.raw(order)}`;
  const bytes = sql`octet_length(${payload})`;
  const isWanted = sql`(${bytes} <= ${SHARE}
    or ${seq} ${isUpTo} (select item->>1 from last_that_fits))`;
  return sql<PageRow>`
    ${withLastThatFits([start, sql`''`], sql`${listed(sql`json_array(${bytes}, ${seq})`, WALKED[0])} limit 1`)}
    ${listed(sql`${columns}, case when ${isWanted} then ${payload} end as payload`, start)}
    limit ${ROWS}`;
}

/** Writes a stored event as JSON text. The payload stands in it as it is stored. */
function documentOf({ payload, ...row }: PageRow): string | undefined {
  if (payload === null) return undefined;
  const head = JSON.stringify({ ...pendingEvent(row), ...storedFields(row) });
  return `${head.slice(0, -1)},"payload":${payload}}`;
}
