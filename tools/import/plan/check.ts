/** Checks the catalogue as an import would leave it: unique keys, and known references. Pure. */

import { formatName, type ImportProblem } from '../read/problem.ts';
import type { CompleteFile } from '../read/read.ts';
import type { FileListing } from '../read/records.ts';
import { type Catalogue, sourcesOf } from '../read/store.ts';
import type { CompleteRecord, StoredKeys } from '../read/types.ts';
import { versionOf } from '../read/version.ts';
import type { Known, PlannedListing } from './types.ts';

export function checkCatalogue(
  file: CompleteFile,
  stored: Catalogue,
  known: Known,
  listings: readonly PlannedListing[],
): ImportProblem[] {
  const { locations, amenities, properties, removed } = file;
  const asExported = listings.filter(
    ({ version, listing }) => version !== undefined && version === versionOf(listing),
  );
  // Imports of version 1.0.0 could give two listings one `hid`: an export of both is valid.
  const hids = new Map([
    ...sourcesOf(stored).map(({ id, hid }) => [id, hid] as const),
    ...asExported.map(({ listing: { id, hid } }) => [id, hid] as const),
  ]);
  const keptLocations = stored.locations.filter(({ id }) => !removed.includes(id));
  return [
    ...findSharedKeys(locations, keptLocations, file),
    ...findSharedKeys(amenities, [], file),
    ...findSharedKeys(properties, sourcesOf(stored), file, hids),
    ...findUnknownReferences(file, known),
    ...properties.flatMap(findForeignHero),
    ...properties.flatMap((record) => findTakenIds(record, stored)),
  ];
}

/** A record after the import: one of the file, or a stored one that the file does not have. */
type Holder = {
  keys: { [Key in keyof StoredKeys]?: StoredKeys[Key] | undefined };
  record?: CompleteRecord<unknown>;
};

/** Finds the records of the file that get the slug, the id or the `hid` of another record. */
function findSharedKeys(
  records: readonly CompleteRecord<unknown>[],
  stored: readonly StoredKeys[],
  file: CompleteFile,
  keptHids: ReadonlyMap<string, string | null> = new Map(),
): ImportProblem[] {
  const before = new Map(stored.map((each) => [each.id, each]));
  const inFile = new Set(records.map(({ keys }) => keys.id));
  const holders: Holder[] = [
    ...stored.filter(({ id }) => !inFile.has(id)).map((keys) => ({ keys })),
    ...records.map((record) => ({ keys: record.keys, record })),
  ];
  const problems: ImportProblem[] = [];
  for (const key of ['slug', 'id', 'hid'] as const) {
    const keeps = ({ keys, record }: Holder) => {
      const { id = '' } = keys;
      const old = key === 'hid' ? keptHids.get(id) : before.get(id)?.[key];
      return record === undefined || old === keys[key];
    };
    const groups = Map.groupBy(holders, ({ keys }) => keys[key] ?? undefined);
    groups.delete(undefined);
    for (const group of groups.values()) {
      const [first, ...others] = group.toSorted((a, b) => Number(keeps(b)) - Number(keeps(a)));
      const late = others.filter((each) => key !== 'hid' || !keeps(each));
      problems.push(
        ...late.flatMap(({ record }) =>
          first && record ? nameHolder(key, record, first, file) : [],
        ),
      );
    }
  }
  return problems;
}

function nameHolder(
  key: keyof StoredKeys,
  { name: record, keys, idField, resolution }: CompleteRecord<unknown>,
  first: Holder,
  file: CompleteFile,
): ImportProblem[] {
  const path = key === 'id' ? idField : key;
  const problem = { record, path, value: keys[path] };
  // The problem of another key that both have is enough.
  const others = ({ slug: [], id: ['slug'], hid: ['slug', 'id'] } as const)[key];
  if (others.some((each) => keys[each] !== undefined && keys[each] === first.keys[each])) return [];
  if (key === 'hid') {
    const details = { holder: `listing ${first.keys.slug}` };
    return [{ ...problem, code: 'hid_repeats', details }];
  }
  if (first.record !== undefined && key === 'id' && record.cellAt !== undefined) {
    const { cell } = record.cellAt('id');
    const details = { first: formatName(first.record.name), cell };
    return [{ record, path: '', code: 'unclear_copy', details }];
  }
  if (first.record !== undefined) {
    const details = { first: `the ${key} of ${formatName(first.record.name)}` };
    return [{ ...problem, code: 'repeats', details }];
  }
  // A record without an id of its own is rejected already.
  if (keys.id === undefined || resolution.kind === 'anothers') return [];
  const owner = `${first.keys.id}`;
  const details = { holder: `${record.kind} ${owner}`, advice: adviseOnSlug(owner, idField, file) };
  return [{ ...problem, code: 'slug_taken', details }];
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

/** Finds locations and amenities that neither the file nor the store has. */
function findUnknownReferences(
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

function findForeignHero({ name, value }: CompleteRecord<FileListing>): ImportProblem[] {
  const { hero_photo, photos = [] } = value ?? {};
  if (typeof hero_photo !== 'string' || photos.some(({ url }) => url === hero_photo)) return [];
  return [{ record: name, path: 'hero_photo', code: 'hero_address', value: hero_photo }];
}

/** Finds a photo or video whose address gives it the id of another stored one. */
function findTakenIds(
  { name: record, keys, writtenKeys, value: listing }: CompleteRecord<FileListing>,
  stored: Catalogue,
): ImportProblem[] {
  const old = stored.listings.get(keys.id ?? '')?.listing;
  if (old === undefined || listing === undefined) return [];
  return (['photos', 'videos'] as const).flatMap((list) =>
    listing[list].flatMap(({ id, url: value }, index): ImportProblem[] => {
      const holder = old[list].find((each) => each.id === id);
      const isGiven = writtenKeys[list].includes(id);
      if (holder === undefined || holder.url === value || isGiven) return [];
      const kind = list === 'photos' ? 'photo' : 'video';
      const details = { holder: `${kind} ${holder.url}`, idField: 'url', key: 'url' };
      return [{ record, path: `${list}.${index}.url`, code: 'id_taken', details, value }];
    }),
  );
}
