/** The effect of a planned import: the listings to write, and what the user should know of each. */

import type { Location, Source } from '../../../src/properties/source.ts';
import { findOperations, formatOperation } from '../../database/operations.ts';
import type { ImportProblem, RecordName } from '../read/problem.ts';
import type { Catalogue, StoredListing } from '../read/store.ts';
import { findListingsUsing, readListings } from '../read/store.ts';
import { versionOf } from '../read/version.ts';
import { compareListings } from './differences.ts';
import { checkSize } from './limits.ts';
import type { Plan } from './plan.ts';
import { compareWarnings, findWarnings } from './quality.ts';
import { type ListingRow, renderRow, resolveLatestChange } from './rows.ts';
import type { Effect, Finding, ImportOptions, ListingChange, RecordChange } from './types.ts';

type PlannedRow = Plan['rows'][number];

export async function compare(
  plan: Plan,
  { summaries }: Catalogue,
  { database, publicSiteUrl, onProgress }: ImportOptions,
): Promise<Effect> {
  const { rows, known, recordChanges } = plan;
  const unchanged = [...plan.unchanged];
  const stale: StaleRecord[] = [];
  const problems: ImportProblem[] = [];
  const listings = rows
    .filter(({ columns }) => !summaries.has(columns.id))
    .map((row) => resolveChange('file', undefined, row, recordChanges));
  const names = new Set([...summaries.values()].map(({ name }) => name));
  for (const { listing, warnings } of listings) {
    const cause = 'new, with the name of a stored listing:';
    if (names.has(listing.name)) warnings.push({ cause, example: listing.slug });
  }
  const rowsById = new Map(rows.map((row) => [row.columns.id, row]));
  const replaced = [...rowsById.keys()].filter((id) => summaries.has(id));
  const changedKeys = recordChanges.map(({ key }) => key);
  const users = await findListingsUsing(database, changedKeys);
  // `users` has listings of the file too: the set drops their second mention.
  const ids = new Set([...replaced, ...[...users, ...plan.pruned].sort()]);
  const total = unchanged.length + listings.length + ids.size;
  onProgress('checked', unchanged.length + listings.length, total);
  for await (const old of readListings(database, [...ids])) {
    const isPruned = plan.pruned.has(old.id);
    const row = rowsById.get(old.id);
    if (row && isStored(row, old)) {
      unchanged.push(row.listing);
    } else if (row) {
      problems.push(...findTakenIds(old.listing, row));
      const change = resolveChange(isPruned ? 'pruned' : 'file', old, row, recordChanges);
      listings.push(change);
      const { version = '', name } = row.record;
      if (change.isOther && version !== '' && version !== versionOf(old.listing)) {
        stale.push({ record: name, change, operation: old.operation });
      }
    } else {
      const reason = isPruned ? 'pruned' : 'outside';
      const now = renderRow(renewListing(old.listing, known, reason), publicSiteUrl);
      const key = { field: 'slug', value: old.slug };
      problems.push(...checkSize(now, { kind: 'listing', place: 'the stored listing', key }));
      listings.push(resolveChange(reason, old, now, recordChanges));
    }
    onProgress('checked', unchanged.length + listings.length, total);
  }
  const ofFile = listings.filter(({ reason }) => reason === 'file');
  const warnedBefore =
    ofFile.filter((each) => each.isWarnedBefore).length +
    unchanged.filter((each) => findWarnings(each).length > 0).length;
  const conflicts = await findConflicts(stale, plan.exportId, database);
  const unused = await findUnused(listings, plan.known, database);
  return { recordChanges, listings, warnedBefore, problems, conflicts, unused };
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
async function findConflicts(
  stale: readonly StaleRecord[],
  exportId: string | undefined,
  database: D1Database,
): Promise<ImportProblem[]> {
  if (stale.length === 0) return [];
  const ids = stale.flatMap(({ operation }) => operation ?? []);
  const found = await findOperations(database, [...new Set(ids)]);
  const operations = new Map(found.map((each) => [each.id, each]));
  return stale.flatMap(({ record, change, operation: id }): ImportProblem[] => {
    const operation = operations.get(id ?? '');
    if (exportId !== undefined && operation?.export_id === exportId) return [];
    const by = operation
      ? `${formatOperation(operation)} (${operation.id})`
      : 'by an unknown operation';
    const details = { by, changes: change.changes.join('; ') };
    return [{ record, path: '', code: 'changed_since', details }];
  });
}

async function findUnused(
  listings: readonly ListingChange[],
  { locations }: Plan['known'],
  database: D1Database,
): Promise<Location[]> {
  const locationsById = new Map(
    listings.map(({ listing: { id, location } }) => [id, location?.id]),
  );
  const left = listings.flatMap(({ old, listing }) => {
    const was = old?.listing.location;
    return was && was.id !== listing.location?.id ? [was.id] : [];
  });
  const unused: Location[] = [];
  for (const id of new Set(left)) {
    const users = await findListingsUsing(database, [id]);
    const isUsed =
      [...locationsById.values()].includes(id) || users.some((user) => !locationsById.has(user));
    const location = locations.get(id);
    if (!isUsed && location) unused.push(location);
  }
  return unused;
}

/** Returns a listing outside the file as it will be. */
function renewListing(
  listing: Source,
  { locations, amenities }: Plan['known'],
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
    renamed: findRenamed(old?.listing, listing),
    emptied: old === undefined ? [] : findEmptied(old.slug, listing, emptied, recordChanges),
    ...compareWarnings(old?.listing, listing),
  };
}

function findRenamed(old: Source | undefined, now: Source) {
  if (old === undefined || now.status === 'hidden') return [];
  return (['slug', 'hid'] as const).filter((key) => old[key] !== null && old[key] !== now[key]);
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

/** Rejects a photo or video whose URL gives it the id of another stored one. */
function findTakenIds(old: Source, { listing, record }: PlannedRow): ImportProblem[] {
  return (['photos', 'videos'] as const).flatMap((list) =>
    listing[list].flatMap(({ id, url: value }, index): ImportProblem[] => {
      const stored = old[list].find((each) => each.id === id);
      const isGiven = record.writtenKeys[list].includes(id);
      if (stored === undefined || stored.url === value || isGiven) return [];
      const holder = `${list === 'photos' ? 'photo' : 'video'} ${stored.url}`;
      const details = { holder, idField: 'url', key: 'url' };
      const path = `${list}.${index}.url`;
      return [{ record: record.name, path, code: 'id_taken', details, value }];
    }),
  );
}
