/**
 * Plans an import: what the file changes in the catalogue, or why it is rejected. A pure function of
 * file, catalogue and options.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { FileListing } from '../catalogue/records.ts';
import { type Catalogue, findUsers } from '../catalogue/store.ts';
import { hashDatabase } from '../read/marks.ts';
import { distinct } from '../read/problem.ts';
import type { ListingsFile, ParsedRecord } from '../read/types.ts';
import { findChanges, findConflicts, isOwn } from './changes.ts';
import { checkCatalogue } from './check.ts';
import { completeFromStore } from './complete.ts';
import { compareRecords } from './differences.ts';
import { checkShare, listPublicIds } from './limits.ts';
import type { Author, Known, Plan, PlannedListing, PlanOptions, RecordChange } from './types.ts';

export function plan(
  written: ListingsFile,
  stored: Catalogue,
  options: PlanOptions,
  author: Author,
): Plan {
  const { prunes = false, overwrite = false, many = false } = options;
  // Import, 3.
  const file = completeFromStore(written, stored, { ...author, overwrite });
  const { properties, removed } = file;
  const locations = changeRecords('location', stored.locations, removed, file.locations);
  const amenities = changeRecords('amenity', stored.amenities, removed, file.amenities);
  const known: Known = { locations: new Map(locations.now), amenities: amenities.now };
  for (const each of locations.now.values()) {
    if (each.slug !== null) known.locations.set(each.slug, each);
  }
  const recordChanges = [...locations.changes, ...amenities.changes];
  const listed = properties.filter(({ isAbsent }) => !isAbsent);
  const named = new Set(listed.map(({ keys }) => keys.id));
  const unnamed = listPublicIds(stored).filter((id) => !named.has(id));
  const isSparing = prunes && !overwrite;
  const spared = isSparing ? unnamed.filter(isChangedSince(file.exportId, stored, author)) : [];
  const pruned = new Set(prunes ? unnamed.filter((id) => !spared.includes(id)) : []);
  const listings = properties.flatMap(({ value, ...record }): PlannedListing[] => {
    if (value === undefined) return [];
    const listing = resolveSource(value, known);
    return [{ ...record, listing, reason: pruned.has(listing.id) ? 'pruned' : 'file' }];
  });
  const outside = listOutside(listings, pruned, recordChanges, known, stored);

  // Import, 4.
  const found = findChanges([...listings, ...outside], recordChanges, stored, options);
  const changes = found.listings;
  const problems = distinct(file.problems, [
    ...checkCatalogue(file, stored, known),
    ...found.problems,
  ]);
  if (problems.length > 0) return { kind: 'rejected', problems };
  const { sortedColumns = [], conflicts: cellConflicts = [], importedRows = [] } = file;
  const conflicts = [...cellConflicts, ...findConflicts(changes, author, stored)];
  const overridable = [
    ...(overwrite ? [] : conflicts),
    ...(many ? [] : [...sortedColumns, ...checkShare(changes, file.form, stored)]),
  ];
  const effect = { listings: changes, recordChanges, conflicts, importedRows };
  if (overridable.length > 0) return { kind: 'rejected', problems: overridable, effect };
  const notes = [...(file.notes ?? []), ...spared.map((id) => formatSpared(id, stored))];
  return { kind: 'accepted', file: { ...file, notes }, effect };
}

/** Finds the listings that somebody else has changed since the export of this id. */
function isChangedSince(
  exportId: string | undefined,
  { listings, operations, ...state }: Catalogue,
  author: Author,
) {
  const [database, number] = exportId?.split('-') ?? [];
  const newestChange = database === hashDatabase(state) ? Number(number) : 0;
  return (id: string) => {
    const { change_seq, operation } = listings.get(id) ?? {};
    const isNewer = author.exportKey !== undefined && Number(change_seq) > newestChange;
    return isNewer && !isOwn(operations.get(operation ?? ''), author);
  };
}

function formatSpared(id: string, { listings }: Catalogue): string {
  return `${listings.get(id)?.slug} has changed since the export, and stays: --overwrite hides it`;
}

/** Lists the stored listings that show a changed location or amenity, or that are pruned. */
function listOutside(
  listings: readonly PlannedListing[],
  pruned: ReadonlySet<string>,
  recordChanges: readonly RecordChange[],
  { locations, amenities }: Known,
  stored: Catalogue,
): PlannedListing[] {
  const inFile = new Set(listings.map(({ listing }) => listing.id));
  const users = recordChanges.flatMap(({ key }) => findUsers(stored, key).map(({ id }) => id));
  const ids = [...new Set([...users, ...pruned])].filter((id) => !inFile.has(id));
  return ids.flatMap((id): PlannedListing[] => {
    const found = stored.listings.get(id)?.listing;
    if (found === undefined) return [];
    const listing = {
      ...found,
      location: found.location && (locations.get(found.location.id) ?? found.location),
      amenities: found.amenities.map((each) => amenities.get(each.slug) ?? each),
    };
    const key = { field: 'slug', value: found.slug };
    const location = { kind: 'listing', position: 'the stored listing', key } as const;
    return [{ location, listing, reason: pruned.has(id) ? 'pruned' : 'outside' }];
  });
}

/** `now` has all records of a kind after the import, by key. */
function changeRecords<T extends Location | Amenity>(
  kind: RecordChange['kind'],
  stored: readonly T[],
  removed: readonly string[],
  records: readonly ParsedRecord<T>[],
) {
  const keyOf = (record: Location | Amenity) => ('id' in record ? record.id : record.slug);
  const before = new Map(stored.map((each) => [keyOf(each), each]));
  const now = new Map(before);
  const written = records.flatMap(({ value }) => (value === undefined ? [] : [value]));
  for (const key of removed) now.delete(key);
  for (const each of written) now.set(keyOf(each), each);
  const changes = [...new Set([...removed, ...written.map(keyOf)])].flatMap(
    (key): RecordChange[] => {
      const change = { kind, key, old: before.get(key), now: now.get(key) };
      // One schema orders the fields of both.
      if (JSON.stringify(change.old) === JSON.stringify(change.now)) return [];
      const name = `${kind} ${(change.old ?? change.now)?.slug ?? key}`;
      return [{ ...change, name, ...compareRecords(change.old, change.now) }];
    },
  );
  return { now, changes };
}

function resolveSource(listing: FileListing, { locations, amenities }: Known): Source {
  const { location_id, location = location_id, hero_photo, amenities: slugs, ...own } = listing;
  return {
    ...own,
    ...(hero_photo !== undefined && {
      hero_photo_id: own.photos.find(({ url }) => url === hero_photo)?.id ?? null,
    }),
    location: locations.get(location ?? '') ?? null,
    amenities: slugs.flatMap((each) => amenities.get(each) ?? []),
  };
}
