/** Fills a database with listings. */

import { renderedRowOf } from '../import/rows.ts';
import { listingAt } from './listings.ts';
import type { Database } from './runtime.ts';

const ROWS_PER_STATEMENT = 100;

/** Stores the first `count` listings of the feed. */
export async function storeListings(
  database: Database,
  count: number,
  publicSiteUrl: string,
): Promise<void> {
  for (let start = 0; start < count; start += ROWS_PER_STATEMENT) {
    const length = Math.min(ROWS_PER_STATEMENT, count - start);
    const rows = Array.from({ length }, (_, offset) =>
      renderedRowOf(listingAt(start + offset), publicSiteUrl),
    );
    const names = Object.keys(rows[0] ?? {});
    await database
      .prepare(
        `INSERT INTO properties (${names.join(', ')})
         SELECT ${names.map((name) => `r.value->>'${name}'`).join(', ')} FROM json_each(?) AS r`,
      )
      .bind(JSON.stringify(rows))
      .run();
  }
}
