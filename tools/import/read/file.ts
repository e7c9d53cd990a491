/** Reads a file by its content, whatever its name is: JSON, or a workbook. */

import { recogniseArchive } from './archive.ts';
import { readListingsFile } from './json.ts';
import { unreadable } from './parse.ts';
import type { FileForm, OnProgress, ParsedFile } from './types.ts';
import { readWorkbook } from './workbook.ts';

const SPREADSHEET = /\.(csv|tsv|xlsx?|xlsm|ods)$/i;

export async function readCatalogueFile(
  path: string,
  bytes: Uint8Array,
  form: Exclude<FileForm, 'workbook'>,
  onProgress: OnProgress,
): Promise<ParsedFile> {
  const found = recogniseArchive(bytes);
  if (found.kind === 'rejected') return unreadable([{ path: '', ...found }]);
  if (found.kind === 'workbook') return await readWorkbook(bytes, onProgress);
  // JSON and HTML begin so.
  const isMarkup = /^\ufeff?\s*[[{<]/.test(new TextDecoder().decode(bytes.subarray(0, 1_000)));
  if (SPREADSHEET.test(path) && !isMarkup) return unreadable([{ path: '', code: 'csv' }]);
  return readListingsFile(bytes, form);
}
