/** Finds the aggregates of a guest, by a text of their events. */

import { readPages } from '../database/tables.ts';
import type { Aggregate } from './erase.ts';

/** e.g. `Ángel O’Groß` → `ANGEL O'GROSS`, as a guest may write it: also without accents and width. */
function fold(text: string): string {
  const plain = text.replaceAll(/[‘’ʼ]/g, "'").normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return plain.toLowerCase().toUpperCase();
}

/** The number of events of a page, and the aggregate of each event that has the text. */
type SearchedPage = { events: number; found: Aggregate[] };

/** Searches the payloads and aggregate ids. */
export async function* findText(database: D1Database, text: string): AsyncGenerator<SearchedPage> {
  const wanted = fold(JSON.stringify(text).slice(1, -1));
  const columns = ['rowid', 'aggregate_type', 'aggregate_id', 'payload'];
  for await (const page of readPages(database, 'events', columns)) {
    const found: Aggregate[] = [];
    for (const { aggregate_type, aggregate_id, payload } of page) {
      const searched = fold(`${payload}${JSON.stringify(aggregate_id)}`);
      if (!searched.includes(wanted)) continue;
      found.push({ type: String(aggregate_type), id: String(aggregate_id) });
    }
    yield { events: page.length, found };
  }
}
