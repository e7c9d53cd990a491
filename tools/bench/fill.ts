/** Fills a database with listings and events. */

import { renderedRowOf } from '../import/rows.ts';
import { listingAt } from './listings.ts';
import type { Database } from './runtime.ts';
import { EVENT, PUBLIC_SITE_URL } from './scenarios.ts';

const ROWS_PER_STATEMENT = 100;
/** This many listings are stored whole; the database clones the others from them. */
const PATTERN = 40;
const CLONES_PER_STATEMENT = 5_000;
const EVENTS_PER_STATEMENT = 50_000;

/** Stores the first `count` listings of the feed. */
export async function storeListings(database: Database, count: number): Promise<void> {
  for (let start = 0; start < count; start += ROWS_PER_STATEMENT) {
    const length = Math.min(ROWS_PER_STATEMENT, count - start);
    const rows = Array.from({ length }, (_, offset) =>
      renderedRowOf(listingAt(start + offset), PUBLIC_SITE_URL),
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

/** Fills up to `count` listings. A clone has a document but no source: it can only be read. */
export async function fillListings(database: Database, count: number): Promise<void> {
  const stored =
    (await database.prepare('SELECT count(*) AS n FROM properties').first<number>('n')) ?? 0;
  if (stored === 0) await storeListings(database, PATTERN);
  for (let from = Math.max(stored, PATTERN); from < count; from += CLONES_PER_STATEMENT) {
    await database
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
         INSERT INTO properties
           (id, slug, status, type, location_id, display_order, source, document, rendering)
         SELECT printf('00000000-0000-4000-8000-%012x', i), 'home-' || i, p.status, p.type,
           p.location_id, i, '{}', json_set(p.document, '$.display_order', i,
           '$.id', printf('00000000-0000-4000-8000-%012x', i)), p.rendering
         FROM n JOIN properties AS p ON p.slug = 'home-' || (i % ${PATTERN})`,
      )
      .bind(from, Math.min(from + CLONES_PER_STATEMENT, count))
      .run();
  }
}

/** Adds `count` events of a hundred thousand aggregates. */
export async function fillEvents(database: Database, count: number): Promise<void> {
  for (let from = 0; from < count; from += EVENTS_PER_STATEMENT) {
    await database
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
         INSERT INTO events (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
         SELECT printf('id-%d', i), printf('key-%d', i), printf('%064d', i), printf('%036d', i),
           ?3, ?4, 'filler-' || (i % 100000), ?5, i FROM n`,
      )
      .bind(
        from,
        Math.min(from + EVENTS_PER_STATEMENT, count),
        EVENT.event_type,
        EVENT.aggregate_type,
        JSON.stringify(EVENT.payload),
      )
      .run();
  }
}
