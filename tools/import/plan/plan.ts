/**
 * Plans an import: what the file changes in the catalogue, or why it is rejected. A pure function of
 * file, catalogue and options.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { distinct } from '../read/problem.ts';
import { completeFromStore } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import type { Catalogue } from '../read/store.ts';
import type { CompleteRecord, ListingsFile } from '../read/types.ts';
import { findChanges } from './changes.ts';
import { checkCatalogue, type Known } from './check.ts';
import { compareRecords } from './differences.ts';
import { checkShare, checkSize, listPublicIds } from './limits.ts';
import { renderRow } from './rows.ts';
import type { Plan, PlanOptions, RecordChange } from './types.ts';

export function plan(written: ListingsFile, stored: Catalogue, options: PlanOptions): Plan {
  const { publicSiteUrl, prunes = false, overwrite = false, many = false } = options;
  // Import, 3.
  const file = completeFromStore(written, stored, overwrite);
  const { properties, removed } = file;
  const locations = changeRecords('location', stored.locations, removed, file.locations);
  const amenities = changeRecords('amenity', stored.amenities, removed, file.amenities);
  const known: Known = { locations: new Map(locations.now), amenities: amenities.now };
  for (const each of locations.now.values()) {
    if (each.slug !== null) known.locations.set(each.slug, each);
  }
  const listed = properties.filter(({ isUnlisted }) => !isUnlisted);
  const named = new Set(listed.map(({ keys }) => keys.id));
  const unnamed = listPublicIds(stored).filter((id) => !named.has(id));
  const pruned = new Set(prunes ? unnamed : []);
  const rows = properties.flatMap((record) => {
    if (record.value === undefined) return [];
    const source = resolveSource(record.value, known);
    if (pruned.has(source.id)) source.status = 'hidden';
    return [{ ...renderRow(source, publicSiteUrl), record }];
  });
  const problems = distinct(file.problems, [
    ...checkCatalogue(file, stored, known, rows),
    ...rows.flatMap((row) => checkSize(row, row.record.name)),
  ]);
  if (problems.length > 0) return { kind: 'rejected', problems };

  // Import, 4.
  const recordChanges = [...locations.changes, ...amenities.changes];
  const planned = { rows, known, recordChanges, pruned, file };
  const effect = findChanges(planned, stored, publicSiteUrl);
  const { moved = [] } = file.touched ?? {};
  const late = [
    ...(overwrite ? [] : effect.conflicts),
    ...effect.problems,
    ...(many ? [] : [...moved, ...checkShare(effect, file.form, stored)]),
  ];
  if (late.length > 0) return { kind: 'rejected', problems: late, effect };
  return { kind: 'accepted', file, effect };
}

/** `now` has all records of a kind after the import, by key. */
function changeRecords<T extends Location | Amenity>(
  kind: RecordChange['kind'],
  stored: readonly T[],
  removed: readonly string[],
  records: readonly CompleteRecord<T>[],
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
