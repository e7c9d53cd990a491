/** The whole catalogue as a listings file: imported again it changes nothing. */

import type { Source } from '../../src/properties/source.ts';
import { fileListingOf } from './read/records.ts';
import { readCatalogue, readListings, readState } from './read/store.ts';

/** Returns the file in pieces, a record per line. An import meanwhile begins it again. */
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

async function readWhole(database: D1Database, onProgress: (done: number, total: number) => void) {
  for (;;) {
    const stored = await readCatalogue(database);
    const listings: Source[] = [];
    for await (const { listing } of readListings(database, [...stored.summaries.keys()])) {
      listings.push(listing);
      onProgress(listings.length, stored.summaries.size);
    }
    if ((await readState(database)).lastImport !== stored.lastImport) continue;
    listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
    return { ...stored, listings };
  }
}

function linesOf(records: readonly unknown[]): string {
  return records.map((each) => `\n${JSON.stringify(each)}`).join(',');
}
