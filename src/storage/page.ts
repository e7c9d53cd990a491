/**
 * Pages of a list, which reads the rows after a position:
 *
 *     select display_order, id, … from properties
 *     where status = 'listed' and (display_order, id) > (7, '0b8e…' || ' ')
 *     order by display_order, id limit 25 + 1
 *
 * Without the space, SQLite seeks to the last row of the previous page and skips it: one more row
 * read. No id lies between the two.
 *
 * A page has at most `limit` items and 4 MiB. It ends before a text larger than 8 MiB / `limit`. If
 * that is the first text, it is read again, and is alone on its page.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { readD1 } from './d1.ts';
import { placeholder, type Statement, type Values } from './statement.ts';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_SELECTED_BYTES = 8 * 1024 * 1024;
const encoder = new TextEncoder();

/** `last` is the row of the last document. */
type Page<Row> = { documents: string[]; last: Row | undefined; hasMore: boolean };

/** Selects a text, or null if it is larger than the request's `maxItemBytes`. */
export function nullIfOversized(column: SQLiteColumn): SQL<string | null> {
  return sql`iif(octet_length(${column}) <= ${placeholder('maxItemBytes')}, ${column}, null)`;
}

type PageRequest<State, Row> = {
  connection: Pick<D1Database, 'prepare' | 'batch'>;
  /** Selects one row about the database. */
  state: Statement<State>;
  page: Statement<Row>;
  values: Values;
  limit: number;
  /** Writes an item as JSON text; undefined if its text was left out. */
  format: (row: Row) => string | undefined;
};

/** Takes two round trips if the first text is too large for a page. */
export async function readPage<State, Row>(
  request: PageRequest<State, Row>,
): Promise<Page<Row> & { state: State }> {
  const { limit, format } = request;
  const maxItemBytes = Math.floor(MAX_SELECTED_BYTES / limit);
  const { state, rows } = await readRows(request, limit + 1, maxItemBytes);
  const page = takePage(rows, limit, format);
  if (page.documents.length > 0 || rows.length === 0) return { state, ...page };

  const again = await readRows(request, 1, Number.MAX_SAFE_INTEGER);
  // Its successor, or none, if the row was deleted meanwhile.
  const { documents, last } = takePage(again.rows, 1, format);
  // The state stays that of the first read, as `hasMore` does: with a later state, rows added in
  // between would count as already seen.
  return { state, documents, last, hasMore: last !== undefined && rows.length > 1 };
}

async function readRows<State, Row>(
  { connection, values, state, page }: PageRequest<State, Row>,
  maxRows: number,
  maxItemBytes: number,
): Promise<{ state: State; rows: Row[] }> {
  const [first, list] = await readD1(() =>
    connection.batch<State & Row>([
      state.bindTo(connection, values),
      page.bindTo(connection, { ...values, maxRows, maxItemBytes }),
    ]),
  );
  const [found] = first?.results ?? [];
  if (found === undefined) throw new Error('The database has no identity.');
  return { state: found, rows: list?.results ?? [] };
}

function takePage<Row>(
  rows: readonly Row[],
  limit: number,
  format: (row: Row) => string | undefined,
): Page<Row> {
  const documents: string[] = [];
  let total = 0;
  for (const row of rows.slice(0, limit)) {
    const document = format(row);
    if (document === undefined) break;
    total += encoder.encode(document).length;
    if (documents.length > 0 && total > MAX_PAGE_BYTES) break;
    documents.push(document);
  }
  const last = rows[documents.length - 1];
  return { documents, last, hasMore: documents.length < rows.length };
}
