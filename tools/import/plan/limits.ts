/** How many listings an import may hide or empty, and how large one may be. Pure. */

import { counted, type ImportProblem, type RecordName, THE_FILE } from '../read/problem.ts';
import type { Catalogue } from '../read/store.ts';
import type { FileForm } from '../read/types.ts';
import type { ListingRow } from './rows.ts';
import type { Effect, PlanOptions } from './types.ts';

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

/** Rejects a file that empties or renames more of the public listings than is usual. */
export function checkShares(
  { listings }: Effect,
  form: FileForm,
  stored: Catalogue,
  { allowEmptied, allowRenamed }: PlanOptions,
): ImportProblem[] {
  const changes = listings.filter(({ old }) => old !== undefined && old.status !== 'hidden');
  const emptied = changes.filter((each) => each.emptied.length > 0);
  const renamed = (['slug', 'hid'] as const).flatMap((field) => {
    const { length } = changes.filter(({ renamed }) => renamed.includes(field));
    // A column that is sorted alone changes two at least.
    return length < 2 ? [] : checkShare('renames_too_many', length, stored, field);
  });
  return [
    ...(form === 'patch' || allowEmptied
      ? []
      : checkShare('empties_too_many', emptied.length, stored)),
    ...(allowRenamed ? [] : renamed),
  ];
}

export function listPublicIds({ listings }: Catalogue): string[] {
  return [...listings.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
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
