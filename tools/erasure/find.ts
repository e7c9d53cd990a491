/** Finds aggregates whose events contain a given text, such as a guest's name. */

import { readPages } from '../database/tables.ts';
import type { Aggregate } from './erase.ts';
import { createMatcher } from './match-text.ts';

export type Match = Aggregate & {
  /** Whether the stored text has the same spelling and is not encoded. */
  isExact: boolean;
};

/** The number of events on a page, and the matches among them. */
type SearchedPage = { events: number; matches: Match[] };

/** Searches the payloads and aggregate ids of all events, page by page. */
export async function* findText(database: D1Database, text: string): AsyncGenerator<SearchedPage> {
  const match = createMatcher(text);
  const columns = ['rowid', 'aggregate_type', 'aggregate_id', 'payload'];
  for await (const page of readPages(database, 'events', columns)) {
    const matches: Match[] = [];
    for (const { aggregate_type, aggregate_id, payload } of page) {
      const textMatch = match(`${payload}${JSON.stringify(aggregate_id)}`);
      if (textMatch === undefined) continue;
      const isExact = textMatch === 'exact';
      matches.push({ type: String(aggregate_type), id: String(aggregate_id), isExact });
    }
    yield { events: page.length, matches };
  }
}
