/** Who changed a record last: the answer for workbooks, for `as_of` in JSON and for `--prune`. */

import { formatOperation, type Operation } from '../../database/operations.ts';
import type { Catalogue } from './store.ts';

/** The person who imports, and the hash of the id of the export from which the file was made. */
export type Author = { who: string; exportKey: string | undefined };

/**
 * Whether an operation is not one of this person's imports of this export. Without an export, or if
 * the operation is unknown, it may be anybody's.
 */
export function isBySomebodyElse(
  operation: Pick<Operation, 'who' | 'export_id'> | undefined,
  { who, exportKey }: Author,
): boolean {
  return operation === undefined || operation.export_id !== exportKey || operation.who !== who;
}

/**
 * Finds the last operation that changed a record, e.g. `listings 38e41363-…`. For a location or an
 * amenity it is the last one that changed any of its kind.
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
