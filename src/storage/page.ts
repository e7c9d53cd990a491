/**
 * Keyset pages. Every list reads the rows behind a place in its order with one statement. A page ends after
 * `limit` items, and earlier where the next item would take it beyond 4 MiB. It holds at least one item.
 *
 * A statement selects `limit + 1` rows, and leaves out (as null) the texts that no such page can hold. A text
 * within its share of the page is selected at once. Only where a text is larger, SQLite adds the sizes up: it
 * walks from row to row, which reads each row of the page twice more. So a usual page reads each row once. The
 * selected texts together stay below twice the bound, and `takePage` ends the page exactly.
 */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Items as JSON texts, and the place of the last one when more follow, else null. */
export type Page<Place> = { documents: string[]; next: Place | null };

/** A value that is bound when the statement runs. */
export const given = (name: string) => sql`${sql.placeholder(name)}`;

/** Returns the values of `ROWS` and `SHARE`. `ranges` is the number of ranges whose rows the statement merges. */
export function valuesOfPage(limit: number, ranges = 1): { rows: number; share: number } {
  return { rows: limit + 1, share: Math.floor(MAX_PAGE_BYTES / (limit * ranges)) };
}

/**
 * The number of rows that a statement selects. SQLite prepares a statement anew each time that a bare `limit ?`
 * is bound, because its planner looks at the value; it does not look at an expression.
 */
export const ROWS = sql`${given('rows')} + 0`;

/** The size in bytes that every text of the page may have at once. */
export const SHARE = given('share');

/** The item at which the walk stands, as the select of the next item refers to it: `walk.item->>1` is its number. */
export const WALKED = [sql.raw('walk.item->>1'), sql.raw('walk.item->>2')] as const;

/** The place of the last row that the page can hold. SQLite walks when this is needed first, and only then. */
export const LAST_THAT_FITS = sql.raw('(select item->>1, item->>2 from last_that_fits)');

/**
 * Makes the `with` clause that `LAST_THAT_FITS` reads. An item is a JSON array of a row's size in bytes and its
 * place: `[bytes, number, id]`. `start` is the place that the page begins behind. `next` selects the item of the
 * first row behind `WALKED`. Sizes come from `octet_length`, which counts bytes and reads the head of a row only.
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
 * Takes the items of a page from the rows that were read: at most `limit`, and up to the bound in bytes.
 * `documentOf` makes the JSON text of a row, or undefined when that text was left out. Returns the texts, and the
 * row that the next page begins behind: undefined on the last page.
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
    total += byteLengthOf(document);
    if (documents.length > 0 && total > MAX_PAGE_BYTES) break;
    documents.push(document);
  }
  const isLast = documents.length === rows.length;
  return { documents, end: isLast ? undefined : rows[documents.length - 1] };
}

/** Returns the size of a text in UTF-8. */
export function byteLengthOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
