/**
 * The plan of an import: the records of the file with their references resolved, and every problem
 * of them against the store. Pure.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { ImportProblem } from '../read/problem.ts';
import { distinct } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import type { Catalogue } from '../read/store.ts';
import type { CompleteFile, FileRecord } from '../read/types.ts';
import { compareRecords } from './differences.ts';
import { checkShare, checkSize, listPublicIds } from './limits.ts';
import { type ListingRow, renderRow } from './rows.ts';
import type { ImportOptions, Known, Plan, PlannedRow, RecordChange } from './types.ts';

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function plan(
  file: CompleteFile,
  stored: Catalogue,
  { publicSiteUrl, pruning = 'none' }: ImportOptions,
): Plan {
  const { isPatch, removed } = file;
  const locations = new Map(stored.locations.map((each) => [each.id, each]));
  const amenities = new Map(stored.amenities.map((each) => [each.slug, each]));
  const known = { locations, amenities };
  // Then `known` has the records as they will be, and locations by slug too.
  const records = applyRecordChanges(
    'location',
    'id',
    locations,
    removed.locations,
    file.locations,
  );
  records.push(
    ...applyRecordChanges('amenity', 'slug', amenities, removed.amenities, file.amenities),
  );
  for (const each of [...locations.values()]) {
    if (each.slug !== null) locations.set(each.slug, each);
  }
  const planned = file.properties.flatMap((record): PlannedRow[] => {
    if (record.value === undefined) return [];
    return [{ ...renderRow(resolveSource(record.value, known), publicSiteUrl), record }];
  });
  const isKept = ({ id }: Location) => !removed.locations.includes(id);
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  const pruned = pruning === 'none' ? [] : listPublicIds(stored).filter((id) => !named.has(id));
  const problems = distinct(file.problems, [
    ...keyProblems(file.locations, stored.locations.filter(isKept), isPatch),
    ...keyProblems(file.properties, [...stored.summaries.values()], isPatch),
    ...unknownReferences(file, known),
    ...file.properties.flatMap(heroProblems),
    ...planned.flatMap((row) => checkSize(row, row.record.name)),
    ...(pruning === 'some' ? checkShare('prunes_too_many', pruned.length, stored) : []),
  ]);
  const { rows = [], same = [] } = Object.groupBy(planned, (row) =>
    differs(row, stored) ? 'rows' : 'same',
  );
  const unchanged = same.map(({ listing }) => listing);
  return { file, problems, known, records, rows, unchanged, pruned };
}

/** Changes the stored records into those that will be stored. Returns the changes. */
function applyRecordChanges<T extends Location | Amenity>(
  kind: RecordChange['kind'],
  keyField: 'id' | 'slug',
  stored: Map<string, T>,
  removed: readonly string[],
  records: readonly FileRecord<T>[],
): RecordChange[] {
  const changes = new Map<string, T | undefined>(removed.map((key) => [key, undefined]));
  for (const { keys, value } of records) {
    if (value !== undefined) changes.set(keys[keyField] ?? '', value);
  }
  return [...changes].flatMap(([key, now]) => {
    const old = stored.get(key);
    // One schema has put the fields of both in order.
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    if (now === undefined) stored.delete(key);
    else stored.set(key, now);
    const name = `${kind} ${(old ?? now)?.slug ?? key}`;
    return [{ kind, key, name, old, now, ...compareRecords(old, now) }];
  });
}

function differs({ columns }: ListingRow, { summaries }: Catalogue): boolean {
  const old = summaries.get(columns.id);
  return old?.source_hash !== columns.source_hash || old.rendering !== columns.rendering;
}

type StoredKeys = { id: string; hid?: string | null; slug: string | null };

/** Rejects slugs and derived ids that another stored record has. */
function keyProblems(
  records: readonly FileRecord<unknown>[],
  stored: readonly StoredKeys[],
  isPatch: boolean,
): ImportProblem[] {
  const inFile = new Set(records.map(({ keys }) => keys.id));
  const byId = new Map(stored.map((each) => [each.id, each]));
  const others = stored.filter(({ id }) => !inFile.has(id));
  const idsBySlug = new Map(others.map(({ slug, id }) => [slug, id]));
  return records.flatMap(({ name: record, keys, idField }): ImportProblem[] => {
    const { id, hid, slug } = keys;
    const old = id === undefined ? undefined : byId.get(id);
    const value = keys[idField];
    const isSameRecord = (hid !== undefined && old?.hid === hid) || old?.slug === slug;
    if (old && idField !== 'id' && !isSameRecord) {
      // A new "casa-b" gets the id of a listing that was "casa-b" once, and is "casa-c" now.
      const holder = `${record.kind} ${old.slug ?? old.id}`;
      const details = { holder, idField, key: 'slug' };
      return [{ record, path: idField, code: 'id_taken', details, value }];
    }
    const holder = slug === undefined ? undefined : idsBySlug.get(slug);
    if (holder === undefined || id === undefined) return [];
    if (idField === 'hid' && old) {
      // H-1 is "casa-a", and becomes "casa-b", which another listing is already.
      const details = { own: String(old.slug), slug: String(slug) };
      return [{ record, path: 'hid', code: 'hid_taken', details, value: hid }];
    }
    // A record with another id takes "casa-b".
    const advice = isPatch ? '' : ': give that id, or import the file with --patch';
    const details = { holder: `${record.kind} ${holder}`, advice };
    return [{ record, path: 'slug', code: 'slug_taken', details, value: slug }];
  });
}

/** Rejects names of locations and amenities that are neither in the file nor in the store. */
function unknownReferences(
  { locations, amenities, properties }: CompleteFile,
  known: Known,
): ImportProblem[] {
  const inFile = locations.flatMap(({ keys }) => [keys.id, keys.slug]);
  const names = {
    location: new Set([...known.locations.keys(), ...inFile]),
    amenity: new Set([...known.amenities.keys(), ...amenities.map(({ keys }) => keys.slug)]),
  };
  return properties.flatMap(({ name: record, keys }) => {
    const check = (kind: keyof typeof names, path: string, name?: string): ImportProblem[] => {
      if (name === undefined || names[kind].has(name)) return [];
      const subject = `${kind} ${JSON.stringify(name)}`;
      const known = [...names[kind]].filter((each) => each !== undefined);
      return [{ record, path, subject, code: 'not_known', unknown: { name, known } }];
    };
    return [
      ...check('location', 'location_id', keys.location_id),
      ...check('location', 'location', keys.location),
      ...keys.amenities.flatMap((key, index) => check('amenity', `amenities.${index}`, key)),
    ];
  });
}

function heroProblems({ name, value }: FileRecord<FileListing>): ImportProblem[] {
  const { hero_photo, photos = [] } = value ?? {};
  if (typeof hero_photo !== 'string' || photos.some(({ url }) => url === hero_photo)) return [];
  return [{ record: name, path: 'hero_photo', code: 'hero_address', value: hero_photo }];
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
