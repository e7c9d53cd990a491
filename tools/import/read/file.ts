/** Reads a file by its content, whatever its name is: JSON, or a workbook. */

import { readListingsFile } from './json.ts';
import type { FileForm, ListingsFile } from './types.ts';

/** How a ZIP archive begins, and what Excel writes with a password, or wrote until 2003. */
const WORKBOOK = ['504b0304', 'd0cf11e0'];

export async function readCatalogueFile(
  bytes: Uint8Array,
  form: Exclude<FileForm, 'workbook'>,
): Promise<ListingsFile> {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('hex');
  if (!WORKBOOK.includes(start)) return readListingsFile(bytes, form);
  // Only a workbook needs its library, which takes long to load.
  const { readWorkbook } = await import('./workbook.ts');
  return await readWorkbook(bytes);
}
