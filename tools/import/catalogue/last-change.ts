/** Finds out who changed a record last. Workbooks, `as_of` in JSON and `--prune` depend on it. */

import { formatOperation, type Operation } from '../../database/operations.ts';
import type { Catalogue } from './store.ts';

export type Author = {
  /** The person who imports. */
  who: string;
  /** Hash of the id of the export that the file was made from; undefined if it was not exported. */
  exportKey: string | undefined;
};

/**
 * Whether an operation is anything but this person's import of this export. An unknown operation may
 * be anybody's, and so may any operation if the file was not exported.
 */
export function isBySomebodyElse(
  operation: Pick<Operation, 'who' | 'export_id'> | undefined,
  { who, exportKey }: Author,
): boolean {
  return operation === undefined || operation.export_id !== exportKey || operation.who !== who;
}

/**
 * Finds the last operation that changed a record, given its key, e.g. `listings 38e41363-…`. For a
 * location or an amenity, this is the last operation that changed any record of the same kind.
 */
export function findLastChange(
  { listings, operations }: Catalogue,
  recordKey: string,
): Operation | undefined {
  const [sheet = '', id = ''] = recordKey.split(' ');
  if (sheet === 'listings') return operations.get(listings.get(id)?.operation ?? '');
  return [...operations.values()].find(({ counts }) => JSON.parse(counts)[sheet] > 0);
}

/** e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx (7c1d2c0e-…)` */
export function formatLastChange(operation: Operation | undefined): string {
  if (operation === undefined) return 'by an unknown operation';
  return `${formatOperation(operation)} (${operation.id})`;
}
