/** Exports the catalogue as JSON or as a workbook. Importing the file again changes nothing. */

import { randomUUID } from 'node:crypto';
import {
  listSources,
  type OnProgress,
  type Records,
  readImportState,
  readRecords,
} from './catalogue/store.ts';
import { hashDatabase } from './read/marks.ts';

import { toWrittenListing, writeListingsFile } from './write/listings-file.ts';

export type ExportForm = 'json' | 'workbook';

/** Yields the pieces of the file. Starts again if an import was applied while the catalogue was read. */
export async function* exportListings(
  database: D1Database,
  onProgress: OnProgress,
  form: ExportForm = 'json',
): AsyncGenerator<string | Uint8Array> {
  const stored = await readRecords(database, onProgress);
  if ((await readImportState(database)).lastImport !== stored.lastImport) {
    return yield* exportListings(database, onProgress, form);
  }
  const { exportId, listings } = prepareExport(stored);
  if (form === 'workbook') {
    // The library takes long to load, and JSON does not need it.
    const { writeWorkbook } = await import('./write/workbook.ts');
    yield await writeWorkbook(stored, listings, exportId);
  } else
    yield* writeListingsFile({ ...stored, export_id: exportId }, listings.map(toWrittenListing));
}

/** Creates the id of an export, and sorts the listings as a site does. */
export function prepareExport(records: Records) {
  const listings = listSources(records);
  listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
  const exportId = `${hashDatabase(records)}-${records.newestChange}-${randomUUID()}`;
  return { exportId, listings };
}
