/** The whole catalogue as a listings file: imported again it changes nothing. */

import type { Location, Source } from '../../src/properties/source.ts';
import { printable } from './read/problem.ts';
import { toFileListing } from './read/records.ts';
import { readCatalogue, readListings, readState } from './read/store.ts';
import { type Separator, sheetLines } from './sheet.ts';
import { writeListingsFile } from './write/listings-file.ts';

/** A sheet with this separator; undefined for JSON. */
export type Form = Separator | undefined;

/** Returns the file in pieces, a record per line. An import meanwhile begins it again. */
export async function* exportListings(
  database: D1Database,
  onProgress: (done: number, total: number) => void,
  form?: Form,
): AsyncGenerator<string> {
  const { locations, amenities, listings } = await readWhole(database, onProgress);
  if (form !== undefined) return yield* sheetLines(listings, form);
  yield* writeListingsFile({ locations, amenities }, listings.map(toFileListing));
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

/** Returns the locations and amenities that a sheet may name: `amenity pool: Swimming pool`. */
export async function* exportNames(database: D1Database): AsyncGenerator<string> {
  const { locations, amenities } = await readCatalogue(database);
  for (const { id, slug, name } of locations) yield `location ${slug ?? id}: ${chooseText(name)}\n`;
  for (const { slug, label } of amenities) yield `amenity ${slug}: ${chooseText(label)}\n`;
}

function chooseText(texts: Location['name']): string {
  return printable(texts.en ?? texts.es ?? texts.fr ?? '');
}
