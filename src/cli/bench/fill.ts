/** Puts a database into its present shape, and listings into it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listingAt, rowOf } from './listings.ts';
import type { Database } from './runtime.ts';

const MIGRATIONS = 'migrations';
const ROWS_A_STATEMENT = 100;

export async function migrate(database: Database): Promise<void> {
  const files = readdirSync(MIGRATIONS).filter((name) => name.endsWith('.sql'));
  for (const file of files.sort()) {
    const text = readFileSync(join(MIGRATIONS, file), 'utf8');
    for (const statement of text.split('--> statement-breakpoint')) {
      await database.prepare(statement).run();
    }
  }
}

/** Stores the first `count` listings of the feed. */
export async function storeListings(
  database: Database,
  count: number,
  publicSiteUrl: string,
): Promise<void> {
  for (let start = 0; start < count; start += ROWS_A_STATEMENT) {
    const length = Math.min(ROWS_A_STATEMENT, count - start);
    const rows = Array.from({ length }, (_, offset) =>
      rowOf(listingAt(start + offset), publicSiteUrl),
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
