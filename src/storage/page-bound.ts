/**
 * The bound of a page in bytes. A page holds its items in order for as long as they stay within it,
 * and at least one.
 *
 * SQLite adds sizes up by walking from row to row, which reads each row twice. So a statement gives a
 * text within its share of the page at once, and walks only where a text is larger: a usual page reads
 * each row once. What it gives is twice the bound at most, and `takePage` ends the page where it is to
 * end.
 */

import { type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';

const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** Returns the items that a page holds: all that fit, in order, and at least one. */
export function takePage<Item extends { bytes: number }>(items: Iterable<Item>): Item[] {
  const page: Item[] = [];
  let total = 0;
  for (const item of items) {
    total += item.bytes;
    if (page.length > 0 && total > MAX_PAGE_BYTES) break;
    page.push(item);
  }
  return page;
}

/** Returns the size of a text in UTF-8. */
export function byteLengthOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** Returns the size that each of so many texts may have without filling more than a page. */
export function shareOfPage(texts: number): number {
  return Math.floor(MAX_PAGE_BYTES / texts);
}

/** The place of a row in a list: its number in the order, then its id. */
export type Place = readonly [number: SQL, id: SQL];

/** The id of a place whose number is enough. */
export const NO_ID = sql`''`;

/**
 * Selects the last row that fits, as `item`: JSON of its size and its place, `[bytes, number, id]`. SQLite
 * runs it when its value is needed first.
 *
 * `start` is the place that the page begins behind. `next` selects the `item` of the row behind a place.
 * It takes the size from `octet_length`, which unlike `length` counts bytes, and reads the head of the
 * row only.
 */
export function lastThatFits(start: Place, next: (place: Place) => SQL, rows: Placeholder): SQL {
  const place = [sql.raw('(walk.item->>1)'), sql.raw('(walk.item->>2)')] as const;
  const fits = sql.raw(`total + (item->>0) <= ${MAX_PAGE_BYTES}`);
  return sql`
    with recursive walk(item, total, steps) as (
      select json_array(0, ${start[0]}, ${start[1]}), 0, 0
      union all select (${next(place)}), total + (item->>0), steps + 1 from walk where ${fits}
      limit ${rows} + 1)
    select item, max(steps) from walk where ${fits}`;
}

/** Makes the `item` of a row. */
export function itemOf(bytes: SQLWrapper, ...place: SQLWrapper[]): SQL {
  return sql`json_array(${sql.join([bytes, ...place], sql`, `)})`;
}
