/** The changes of an import: the listings to write, and what the user should know of each. Pure. */

import type { Location, Source } from '../../../src/properties/source.ts';
import type { ImportProblem, RecordName } from '../read/problem.ts';
import type { CompleteFile } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import { type Catalogue, findUsers, type StoredListing } from '../read/store.ts';
import { formatLastChange } from '../read/touched.ts';
import type { CompleteRecord } from '../read/types.ts';
import { versionOf } from '../read/version.ts';
import type { Known } from './check.ts';
import { compareListings } from './differences.ts';
import { checkSize } from './limits.ts';
import { findWarnings } from './quality.ts';
import { type ListingRow, renderRow, resolveLatestChange } from './rows.ts';
import type { Effect, Finding, ListingChange, RecordChange } from './types.ts';

/** A listing of the file as a row. */
export type PlannedRow = ListingRow & { record: CompleteRecord<FileListing> };

type Planned = {
  rows: readonly PlannedRow[];
  known: Known;
  recordChanges: RecordChange[];
  /** The ids of the public listings that `--prune` hides. */
  pruned: ReadonlySet<string>;
  file: CompleteFile;
};

export function findChanges(
  { rows, known, recordChanges, pruned, file }: Planned,
  stored: Catalogue,
  publicSiteUrl: string,
): Effect {
  const stale: StaleRecord[] = [];
  const problems: ImportProblem[] = [];
  const listings: ListingChange[] = [];
  for (const row of rows) {
    const old = stored.listings.get(row.columns.id);
    if (old && isStored(row, old)) continue;
    const reason = pruned.has(row.columns.id) ? 'pruned' : 'file';
    const change = resolveChange(reason, old, row, recordChanges);
    listings.push(change);
    const { version, name } = row.record;
    if (old && change.isOther && version && version !== versionOf(old.listing)) {
      stale.push({ record: name, change, operation: old.operation });
    }
  }
  const inFile = new Set(rows.map(({ columns }) => columns.id));
  const users = recordChanges.flatMap(({ key }) => findUsers(stored, key).map(({ id }) => id));
  for (const id of new Set([...users, ...pruned])) {
    const old = stored.listings.get(id);
    if (old === undefined || inFile.has(id)) continue;
    const reason = pruned.has(id) ? 'pruned' : 'outside';
    const now = renderRow(renewListing(old.listing, known, reason), publicSiteUrl);
    const key = { field: 'slug', value: old.slug };
    problems.push(...checkSize(now, { kind: 'listing', place: 'the stored listing', key }));
    listings.push(resolveChange(reason, old, now, recordChanges));
  }
  const conflicts = [
    ...(file.touched?.conflicts ?? []),
    ...findConflicts(stale, file.exportId, stored),
  ];
  const unused = findUnused(listings, known, stored);
  return { recordChanges, listings, problems, conflicts, unused };
}

/** A source that lacks a field of today is the same as one in which the field is empty. */
function isStored({ columns }: PlannedRow, { listing, rendering }: StoredListing): boolean {
  return rendering === columns.rendering && JSON.stringify(listing) === columns.source;
}

type StaleRecord = { record: RecordName; change: ListingChange; operation: string | null };

/**
 * Finds the listings that another operation has changed since the file was made. An operation of
 * the same export is no other: an editor imports a corrected file again.
 */
function findConflicts(
  stale: readonly StaleRecord[],
  exportId: string | undefined,
  { operations }: Catalogue,
): ImportProblem[] {
  return stale.flatMap(({ record, change, operation: id }): ImportProblem[] => {
    const operation = operations.get(id ?? '');
    if (exportId !== undefined && operation?.export_id === exportId) return [];
    const details = { by: formatLastChange(operation), changes: change.changes.join('; ') };
    return [{ record, path: '', code: 'changed_since', details }];
  });
}

/** The locations that lose their last listing. */
function findUnused(
  listings: readonly ListingChange[],
  { locations }: Known,
  stored: Catalogue,
): Location[] {
  const after = new Map([...stored.listings].map(([id, { listing }]) => [id, listing]));
  for (const { listing } of listings) after.set(listing.id, listing);
  const used = new Set([...after.values()].map(({ location }) => location?.id));
  const left = new Set(listings.map(({ old }) => old?.listing.location?.id));
  return [...left].flatMap((id = '') => (used.has(id) ? [] : (locations.get(id) ?? [])));
}

/** Returns a listing outside the file as it will be. */
function renewListing(
  listing: Source,
  { locations, amenities }: Known,
  reason: 'outside' | 'pruned',
): Source {
  const { location } = listing;
  return {
    ...listing,
    status: reason === 'pruned' ? 'hidden' : listing.status,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

function resolveChange(
  reason: ListingChange['reason'],
  old: StoredListing | undefined,
  row: ListingRow | PlannedRow,
  recordChanges: readonly RecordChange[],
): ListingChange {
  const { listing, columns } = row;
  const { changes, emptied } = compareListings(old?.listing, listing);
  return {
    listing,
    columns,
    reason,
    old,
    isOther: old === undefined || versionOf(old.listing) !== versionOf(listing),
    changes,
    latest: resolveLatestChange(old, columns),
    isRenamed: isRenamed(old?.listing, listing),
    emptied: old === undefined ? [] : findEmptied(old.slug, listing, emptied, recordChanges),
    warnings: findWarnings(listing, old?.listing),
  };
}

function isRenamed(old: Source | undefined, now: Source): boolean {
  if (old === undefined || now.status === 'hidden') return false;
  return (['slug', 'hid'] as const).some((key) => old[key] !== null && old[key] !== now[key]);
}

/** Includes the texts that the location and the amenities lose. */
function findEmptied(
  example: string,
  { location, amenities }: Source,
  fields: readonly string[],
  recordChanges: readonly RecordChange[],
): Finding[] {
  const shown = [location?.id, ...amenities.map(({ slug }) => slug)];
  const texts = recordChanges.filter(
    ({ key, emptied }) => emptied.length > 0 && shown.includes(key),
  );
  const causes = [
    ...fields.map((field) => `${field} of`),
    ...texts.map(({ emptied, name }) => `${emptied.join(', ')} of ${name}, shown by`),
  ];
  return causes.map((cause) => ({ cause, example }));
}
