/** The whole catalogue as a listings file: imported again it changes nothing. */

import type { Source } from '../../src/properties/source.ts';
import { fileListingOf } from './records.ts';
import { readListings, readState, type State } from './store.ts';

/**
 * Returns the text of the file piece by piece, a record on each line, listings in the order of the feed. It is the
 * catalogue of one moment: when an import is applied meanwhile, it is read again.
 */
export async function* exportListings(
  database: D1Database,
  onProgress: (done: number, total: number) => void,
): AsyncGenerator<string> {
  const { locations, amenities, listings } = await readWhole(database, onProgress);
  yield `{\n"locations": [${linesOf(locations)}],\n"amenities": [${linesOf(amenities)}],\n"properties": [`;
  for (const [index, listing] of listings.entries()) {
    yield `${index === 0 ? '' : ','}\n${JSON.stringify(fileListingOf(listing))}`;
  }
  yield '\n]\n}\n';
}

type WholeCatalogue = Pick<State, 'locations' | 'amenities'> & { listings: Source[] };

async function readWhole(
  database: D1Database,
  onProgress: (done: number, total: number) => void,
): Promise<WholeCatalogue> {
  for (;;) {
    const state = await readState(database);
    const listings: Source[] = [];
    for await (const rows of readListings(database)) {
      for (const row of rows) listings.push(JSON.parse(row.source));
      onProgress(listings.length, Math.max(listings.length, state.listings));
    }
    if ((await readState(database)).lastImport !== state.lastImport) continue;
    listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
    return { ...state, listings };
  }
}

function linesOf(records: readonly unknown[]): string {
  return records.map((each) => `\n${JSON.stringify(each)}`).join(',');
}
