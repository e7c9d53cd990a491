/** How many listings an import may hide or empty, and how large one may be. Pure. */

import { counted, type ImportProblem, type RecordName, THE_FILE } from '../read/problem.ts';
import type { Catalogue } from '../read/store.ts';
import type { ListingRow } from './rows.ts';

/** Of the public listings, unless the user allows more. */
const MAX_SHARE = 1 / 5;

export function checkShare(
  code: 'prunes_too_many' | 'empties_too_many' | 'renames_too_many',
  count: number,
  stored: Catalogue,
  field = '',
): ImportProblem[] {
  const all = listPublicIds(stored).length;
  if (count <= all * MAX_SHARE) return [];
  const details = { field, count, all: counted(all, 'public listing') };
  return [{ record: THE_FILE, path: '', code, details }];
}

export function listPublicIds({ summaries }: Catalogue): string[] {
  return [...summaries.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
}

/** A row of D1 holds 2 MB: almost half for the source, as much for document and card. */
const MAX_BYTES = 900_000;

export function checkSize({ columns }: ListingRow, record: RecordName): ImportProblem[] {
  const stored = Buffer.byteLength(columns.source);
  const shown = Buffer.byteLength(`${columns.document}${columns.card}`);
  const [use, bytes] = stored > MAX_BYTES ? ['store', stored] : ['show', shown];
  if (bytes <= MAX_BYTES) return [];
  return [{ record, path: '', code: 'too_large', details: { use, bytes, most: MAX_BYTES } }];
}
