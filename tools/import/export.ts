/** The catalogue as a listings file, JSON or a workbook: imported again it changes nothing. */

import { randomUUID } from 'node:crypto';
import { type OnProgress, readImportState, readRecords } from './catalogue/store.ts';
import { hashDatabase } from './read/marks.ts';

import { toWrittenListing, writeListingsFile } from './write/listings-file.ts';

export type ExportForm = 'json' | 'workbook';

/** Yields the file. If an import is applied meanwhile, the reads begin again. */
export async function* exportListings(
  database: D1Database,
  onProgress: OnProgress,
  form: ExportForm = 'json',
): AsyncGenerator<string | Uint8Array> {
  const stored = await readRecords(database, onProgress);
  if ((await readImportState(database)).lastImport !== stored.lastImport) {
    return yield* exportListings(database, onProgress, form);
  }
  const listings = [...stored.listings.values()].map(({ listing }) => listing);
  listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
  const export_id = `${hashDatabase(stored)}-${stored.newestChange}-${randomUUID()}`;
  if (form === 'workbook') {
    // Only a workbook needs its library, which takes long to load.
    const { writeWorkbook } = await import('./write/workbook.ts');
    yield await writeWorkbook(stored, listings, export_id);
  } else yield* writeListingsFile({ ...stored, export_id }, listings.map(toWrittenListing));
}
