/**
 * The bound of a page in bytes. A page holds its items in order for as long as they stay within it,
 * and at least one.
 *
 * SQLite has to add sizes up in a window, which reads each row of a page four times. So a statement
 * gives a text within its share of the page at once, and asks for the running total only where a
 * text is larger: a usual page reads each row once. What it gives is twice the bound at most, and
 * `takePage` ends the page where it is to end.
 */

import { type SQL, sql } from 'drizzle-orm';

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

/**
 * Selects the position of the last row that fits, by a running total of sizes. SQLite runs it when its
 * value is needed first.
 *
 * `sizes` is a query of a whole page: the columns of `position`, and `bytes`. Use `octet_length` for
 * these, which unlike `length` counts bytes, and reads the head of the row only.
 */
export function lastThatFits(position: SQL, order: SQL, sizes: SQL): SQL {
  const total = sql`sum(bytes) over (order by ${order} rows unbounded preceding)`;
  return sql`select ${position} from (select ${position}, ${total} as total from (${sizes}))
    where total <= ${sql.raw(String(MAX_PAGE_BYTES))} order by total desc limit 1`;
}
