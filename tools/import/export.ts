/** The whole catalogue as a listings file: imported again it changes nothing. */

import type { Location, Source } from '../../src/properties/source.ts';
import { printable } from './read/problem.ts';
import { toFileListing } from './read/records.ts';
import { readCatalogue, readListings, readState } from './read/store.ts';
import { type Separator, sheetLines } from './sheet.ts';
import { writeListingsFile } from './write/listings-file.ts';

/**
 * Returns the file in pieces, a record per line: JSON, or a sheet with the separator. An import
 * meanwhile begins it again.
 */
export async function* exportListings(
  database: D1Database,
  onProgress: (phase: string, done: number, total: number) => void,
  separator?: Separator,
): AsyncGenerator<string> {
  const stored = await readCatalogue(database);
  const listings: Source[] = [];
  for await (const { listing } of readListings(database, [...stored.summaries.keys()])) {
    listings.push(listing);
    onProgress('listings read', listings.length, stored.summaries.size);
  }
  if ((await readState(database)).lastImport !== stored.lastImport) {
    return yield* exportListings(database, onProgress, separator);
  }
  listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
  if (separator !== undefined) return yield* sheetLines(listings, separator);
  yield* writeListingsFile(stored, listings.map(toFileListing));
}

/** Returns the locations and amenities that a sheet may name: `amenity pool: Swimming pool`. */
export async function* exportNames(database: D1Database): AsyncGenerator<string> {
  const { locations, amenities } = await readCatalogue(database);
  for (const { id, slug, name } of locations) yield `location ${slug ?? id}: ${chooseText(name)}\n`;
  for (const { slug, label } of amenities) yield `amenity ${slug}: ${chooseText(label)}\n`;
}

function chooseText(texts: Location['name']): string {
  return printable(texts.en ?? texts.es ?? texts.fr ?? '');
}
