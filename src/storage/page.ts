/**
 * Keyset pages. Every list reads the rows after a place in its order with one statement. A page ends after `limit`
 * items, or before an item that would make it larger than 4 MiB. It holds at least one item.
 *
 * A statement selects `limit + 1` rows, with null in place of each text that the page cannot hold. A text that is not
 * larger than its share of the page (4 MiB / `limit`) always fits, so a usual page reads each row once. Where a text is
 * larger, SQLite walks from row to row and adds the sizes up, which reads each row of the page twice more. The selected
 * texts may add up to twice the bound: `takePage` ends the page exactly.
 */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const encoder = new TextEncoder();

/** Items as JSON texts, and the place of the last item if more items follow, else null. */
export type Page<Place> = { documents: string[]; next: Place | null };

/** A value that is bound when the statement runs. */
export const given = (name: string) => sql`${sql.placeholder(name)}`;

/** Returns the values of `ROWS` and `SHARE`. `ranges` is the number of ranges whose rows the statement merges. */
export function valuesOfPage(limit: number, ranges = 1): { rows: number; share: number } {
  return { rows: limit + 1, share: Math.floor(MAX_PAGE_BYTES / (limit * ranges)) };
}

/**
 * The number of rows that a statement selects. It is an expression, because SQLite prepares a statement with a bare
 * `limit ?` anew for each value: its planner reads the value of a parameter, but not of an expression.
 */
export const ROWS = sql`${given('rows')} + 0`;

/** The largest size in bytes that every text of a page may have at the same time. */
export const SHARE = given('share');

/** The place (number, id) of the walk's current item, for the statement that selects the next item. */
export const WALKED = [sql.raw('walk.item->>1'), sql.raw('walk.item->>2')] as const;

/** The place of the last row that the page can hold. SQLite walks when a row first needs this place, and only then. */
export const LAST_THAT_FITS = sql.raw('(select item->>1, item->>2 from last_that_fits)');

/**
 * Makes the `with` clause that `LAST_THAT_FITS` reads. An item is a JSON array of a row's size in bytes and its place:
 * `[bytes, number, id]`. `start` is the place after which the page begins. `next` selects the item of the first row
 * after `WALKED`. Sizes come from `octet_length`, which counts bytes and reads the head of a row only.
 */
export function withLastThatFits(start: readonly [SQLWrapper, SQLWrapper], next: SQL): SQL {
  const fits = sql.raw(`total + (item->>0) <= ${MAX_PAGE_BYTES}`);
  return sql`with last_that_fits as (
    with recursive walk(item, total, steps) as (
      select json_array(0, ${start[0]}, ${start[1]}), 0, 0
      union all select (${next}), total + (item->>0), steps + 1 from walk where ${fits}
      limit ${given('rows')} + 1)
    select item, max(steps) from walk where ${fits})`;
}

/**
 * Takes the items of a page from the rows that were read: at most `limit`, and up to the bound in bytes. `documentOf`
 * makes the JSON text of a row, or undefined when that text was left out. Returns the texts, and the row after which
 * the next page begins: undefined on the last page.
 */
export function takePage<Row>(
  rows: readonly Row[],
  limit: number,
  documentOf: (row: Row) => string | undefined,
): { documents: string[]; end: Row | undefined } {
  const documents: string[] = [];
  let total = 0;
  for (const row of rows.slice(0, limit)) {
    const document = documentOf(row);
    if (document === undefined) break;
    total += encoder.encode(document).length;
    if (documents.length > 0 && total > MAX_PAGE_BYTES) break;
    documents.push(document);
  }
  const isLast = documents.length === rows.length;
  return { documents, end: isLast ? undefined : rows[documents.length - 1] };
}
