/** Finds the aggregates of a guest, by a text of their events, and those that a misspelt name means. */

import * as z from 'zod';
import { readPages } from '../database/tables.ts';
import type { Aggregate } from './erase.ts';

const NEWEST_EVENTS = 10_000;

const aggregates = z.array(z.object({ type: z.string(), id: z.string() }));

/** e.g. `Ángel O’Groß` → `ANGEL O'GROSS`, as a guest may write it: also without accents and width. */
export function fold(text: string): string {
  const plain = text.replaceAll(/[‘’ʼ]/g, "'").normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return plain.toLowerCase().toUpperCase();
}

/** The aggregate of each event of a page that has the text, and the `seq` of its last event. */
type SearchedPage = { found: Aggregate[]; upTo: number };

/** Searches the payloads and aggregate ids after a `seq`, in order. */
export async function* findText(
  database: D1Database,
  text: string,
  start: number,
): AsyncGenerator<SearchedPage> {
  const wanted = fold(JSON.stringify(text).slice(1, -1));
  const columns = ['rowid', 'aggregate_type', 'aggregate_id', 'payload'];
  for await (const page of readPages(database, 'events', columns, start)) {
    const found: Aggregate[] = [];
    for (const { aggregate_type, aggregate_id, payload } of page) {
      const searched = fold(`${payload}${JSON.stringify(aggregate_id)}`);
      if (!searched.includes(wanted)) continue;
      found.push({ type: String(aggregate_type), id: String(aggregate_id) });
    }
    yield { found, upTo: page.at(-1)?.rowid ?? start };
  }
}

/**
 * Returns the aggregates whose id differs in its case only, of any type: one look through the index
 * of ids. And the types of the newest events.
 */
export async function findNear(database: D1Database, { id }: Aggregate) {
  const sameId = database.prepare(
    `SELECT DISTINCT aggregate_type AS type, aggregate_id AS id FROM events
     WHERE aggregate_id IN (SELECT aggregate_id FROM events WHERE aggregate_id = ?1 COLLATE NOCASE)
     LIMIT 10`,
  );
  const types = database.prepare(
    `SELECT DISTINCT aggregate_type AS type FROM
       (SELECT aggregate_type FROM events ORDER BY seq DESC LIMIT ${NEWEST_EVENTS}) ORDER BY type`,
  );
  const known = await types.all<{ type: string }>();
  return {
    aggregates: aggregates.parse((await sameId.bind(id).all()).results),
    types: known.results.map(({ type }) => type),
  };
}
