/**
 * Resolves the references of a file's records, and finds the problems that summaries of the stored
 * listings show. Pure.
 */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { distinct, type ImportProblem } from '../read/problem.ts';
import type { CompleteFile } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import type { Catalogue } from '../read/store.ts';
import type { CompleteRecord, StoredKeys } from '../read/types.ts';
import { versionOf } from '../read/version.ts';
import { compareRecords } from './differences.ts';
import { checkShare, checkSize, listPublicIds } from './limits.ts';
import { renderRow } from './rows.ts';
import type { ImportOptions, RecordChange } from './types.ts';

export type Plan = ReturnType<typeof plan>;

/** Locations by id and by slug, and amenities by slug. */
type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

export function plan(
  file: CompleteFile,
  stored: Catalogue,
  { publicSiteUrl, pruning = 'none' }: ImportOptions,
) {
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
  const pruned = new Set(pruning === 'none' ? [] : unnamed);
  const planned = properties.flatMap((record) => {
    if (record.value === undefined) return [];
    const source = resolveSource(record.value, known);
    if (pruned.has(source.id)) source.status = 'hidden';
    return [{ ...renderRow(source, publicSiteUrl), record }];
  });
  const keptLocations = stored.locations.filter(({ id }) => !removed.includes(id));
  const problems = distinct(file.problems, [
    ...slugProblems(file.locations, keptLocations, file),
    ...slugProblems(properties, [...stored.summaries.values()], file),
    ...hidProblems(planned, properties, stored),
    ...unknownReferences(file, known),
    ...properties.flatMap(heroProblems),
    ...planned.flatMap((row) => checkSize(row, row.record.name)),
    ...(pruning === 'some' ? checkShare('prunes_too_many', pruned.size, stored) : []),
  ]);
  const { rows = [], same = [] } = Object.groupBy(planned, ({ columns }) => {
    const old = stored.summaries.get(columns.id);
    const isSame = old?.source_hash === columns.source_hash && old.rendering === columns.rendering;
    return isSame ? 'same' : 'rows';
  });
  return {
    problems,
    exportId: file.exportId,
    known,
    recordChanges: [...locations.changes, ...amenities.changes],
    /** The rows of listings that the store lacks, or has from another source or other rules. */
    rows,
    unchanged: same.map(({ listing }) => listing),
    /** The ids of the public listings that `--prune` hides. */
    pruned,
  };
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

/** Rejects slugs that another stored record has, and keeps. */
function slugProblems(
  records: readonly CompleteRecord<unknown>[],
  stored: readonly StoredKeys[],
  file: CompleteFile,
): ImportProblem[] {
  const inFile = new Set(records.map(({ keys }) => keys.id));
  const others = stored.filter(({ id }) => !inFile.has(id));
  const ownersBySlug = new Map(others.map(({ slug, id }) => [slug, id]));
  return records.flatMap(({ name: record, keys, idField, resolution }): ImportProblem[] => {
    const { id, hid, slug = '' } = keys;
    const ownerId = ownersBySlug.get(slug);
    // A record without an id of its own is rejected already.
    if (ownerId === undefined || id === undefined || resolution.kind === 'anothers') return [];
    if (resolution.kind === 'stored' && idField === 'hid') {
      // H-1 is "casa-a", and becomes "casa-b", which another listing is already.
      const details = { own: String(resolution.old.slug), slug };
      return [{ record, path: 'hid', code: 'hid_taken', details, value: hid }];
    }
    // A record with another id takes "casa-b".
    const advice = adviseOnSlug(ownerId, idField, file);
    const details = { holder: `${record.kind} ${ownerId}`, advice };
    return [{ record, path: 'slug', code: 'slug_taken', details, value: slug }];
  });
}

/** Rejects a new `hid` that another listing has. Pairs that are or were stored stop no import. */
function hidProblems(
  planned: readonly { listing: Source; record: CompleteRecord<FileListing> }[],
  records: readonly CompleteRecord<FileListing>[],
  { summaries }: Catalogue,
): ImportProblem[] {
  const inFile = new Set(records.map(({ keys }) => keys.id));
  const listings = [
    ...[...summaries.values()].filter(({ id }) => !inFile.has(id)),
    ...records.flatMap(({ value }) => value ?? []),
  ];
  const byHid = Map.groupBy(listings, ({ hid }) => hid);
  return planned.flatMap(({ listing, record: { name: record, version } }): ImportProblem[] => {
    const { id, hid, slug } = listing;
    const isStored = summaries.get(id)?.hid === hid || versionOf(listing) === version;
    if (hid === null || isStored) return [];
    // A listing with the same slug is rejected already.
    const other = byHid.get(hid)?.find((each) => each.id !== id && each.slug !== slug);
    if (other === undefined) return [];
    const details = { holder: `listing ${other.slug}` };
    return [{ record, path: 'hid', code: 'hid_repeats', details, value: hid }];
  });
}

function adviseOnSlug(
  ownerId: string,
  idField: string,
  { form, keptRemovals }: CompleteFile,
): string {
  if (keptRemovals.has(ownerId))
    return ', which other listings have: give them another location first';
  if (form !== 'whole') return ': give that id, or another slug';
  // A patch finds a listing by its slug only if the record has no other id.
  const omission = idField === 'id' ? 'leave the id out and ' : '';
  return `: give that id, or ${omission}import the file with --patch`;
}

/** Rejects locations and amenities that neither the file nor the store has. */
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
      const candidates = [...names[kind]].filter((each) => each !== undefined);
      const unknown = { name, known: candidates };
      return [{ record, path, subject, code: 'not_known', unknown }];
    };
    return [
      ...check('location', 'location_id', keys.location_id),
      ...check('location', 'location', keys.location),
      ...keys.amenities.flatMap((key, index) => check('amenity', `amenities.${index}`, key)),
    ];
  });
}

function heroProblems({ name, value }: CompleteRecord<FileListing>): ImportProblem[] {
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
