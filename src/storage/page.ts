/**
 * Reads the pages of lists. The statement of a page selects one row more than the page contains:
 *
 *     select display_order, id, … from properties
 *     where status = 'listed' and (display_order, id) > (7, '0b8e…' || ' ')
 *     order by display_order, id limit 25 + 1
 *
 * The space makes SQLite seek past the last row of the previous page, which it would otherwise read and
 * skip. No other id sorts between an id and the same id with a space.
 *
 * A page has at most `limit` items and 4 MiB. It ends before a text that is larger than 8 MiB /
 * `limit`. If the first text is that large, a second round trip reads it, and the page has no other
 * item.
 */

import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { readD1 } from './d1.ts';
import { placeholder, type Statement, type Values } from './statement.ts';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_SELECTED_BYTES = 8 * 1024 * 1024;
const encoder = new TextEncoder();

type Page<Row> = {
  documents: string[];
  /** Row of the last document. */
  last: Row | undefined;
  hasMore: boolean;
};

/** Selects a text, or null if it is larger than the request's `maxItemBytes`. */
export function nullIfOversized(column: SQLiteColumn): SQL<string | null> {
  return sql`iif(octet_length(${column}) <= ${placeholder('maxItemBytes')}, ${column}, null)`;
}

type PageRequest<State, Row> = {
  connection: Pick<D1Database, 'prepare' | 'batch'>;
  /** Selects one row about the database, in the same batch as the page. */
  state: Statement<State>;
  page: Statement<Row>;
  values: Values;
  limit: number;
  /** Returns an item as JSON text; undefined if its text was too large. */
  format: (row: Row) => string | undefined;
};

/** Reads a page and the row of `state`. Takes two round trips if the first text is too large for a page. */
export async function readPage<State, Row>(
  request: PageRequest<State, Row>,
): Promise<Page<Row> & { state: State }> {
  const { limit, format } = request;
  const maxItemBytes = Math.floor(MAX_SELECTED_BYTES / limit);
  const { state, rows } = await readRows(request, limit + 1, maxItemBytes);
  const page = takePage(rows, limit, format);
  if (page.documents.length > 0 || rows.length === 0) return { state, ...page };

  const secondRead = await readRows(request, 1, Number.MAX_SAFE_INTEGER);
  // The result is the next row, or no row, if the first row was deleted in between.
  const { documents, last } = takePage(secondRead.rows, 1, format);
  // `state` and `hasMore` come from the first read. With a later state, a reader would miss the rows
  // that were added in between.
  return { state, documents, last, hasMore: last !== undefined && rows.length > 1 };
}

async function readRows<State, Row>(
  { connection, values, state, page }: PageRequest<State, Row>,
  maxRows: number,
  maxItemBytes: number,
): Promise<{ state: State; rows: Row[] }> {
  const [stateResult, pageResult] = await readD1(() =>
    connection.batch<State & Row>([
      state.bindTo(connection, values),
      page.bindTo(connection, { ...values, maxRows, maxItemBytes }),
    ]),
  );
  const [stateRow] = stateResult?.results ?? [];
  if (stateRow === undefined) throw new Error('The database has no identity.');
  return { state: stateRow, rows: pageResult?.results ?? [] };
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
