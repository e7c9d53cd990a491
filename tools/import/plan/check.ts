/** Checks that keys are unique and references known in the catalogue as it would be after an import. */

import { type FileListing, makeUndoneSlug, type StoredKeys } from '../catalogue/records.ts';
import { type Catalogue, listSources } from '../catalogue/store.ts';
import {
  asTyped,
  type FieldProblem,
  type FileLocation,
  formatLocation,
  type ImportProblem,
} from '../read/problem.ts';
import type { CompleteFile, ParsedRecord } from './complete-records.ts';
import type { References } from './record-changes.ts';

const REFERENCE_LIST =
  '`npm run -s export-listings -- --out catalogue.xlsx` lists the known locations and amenities in their sheets, where a row adds one.';

export function checkCatalogue(
  file: CompleteFile,
  stored: Catalogue,
  references: References,
): ImportProblem[] {
  const { locations, amenities, properties, removed } = file;
  const remainingLocations = stored.locations.filter(({ id }) => !removed.includes(id));
  const sources = listSources(stored);
  return [
    ...findSharedKeys(locations, remainingLocations),
    ...findSharedKeys(amenities, []),
    ...findSharedKeys(properties, sources),
    ...findTakenIds(locations, remainingLocations),
    ...findTakenIds(properties, sources),
    ...properties.flatMap((record) => findTakenEntries(record, stored)),
    ...findUnknownReferences(file, references),
  ];
}

const KEYS = ['id', 'slug', 'hid'] as const;
type Key = (typeof KEYS)[number];

/** A record that has a key. Only a record of the file has a location. */
type Holder = { keys: { [Name in Key]?: string | null | undefined }; location?: FileLocation };

/**
 * Finds the records of the file whose id, slug or `hid` belongs to another record. A slug or `hid`
 * belongs to the record that already has it, so the problem is the record that would get it.
 */
function findSharedKeys(
  records: readonly ParsedRecord<unknown>[],
  stored: readonly StoredKeys[],
): ImportProblem[] {
  const before = new Map(stored.map((record) => [record.id, record]));
  const idsInFile = new Set(records.map(({ keys }) => keys.id));
  const outside = stored.filter(({ id }) => !idsInFile.has(id)).map((keys): Holder => ({ keys }));
  const isKept = ({ keys }: Holder, key: Key) =>
    key !== 'id' && before.get(keys.id ?? '')?.[key] === keys[key];
  const holders = new Map<string, Holder>();
  const register = (holder: Holder, key: Key) => {
    const name = `${key} ${holder.keys[key]}`;
    const first = holders.get(name);
    if (holder.keys[key] != null && first === undefined) holders.set(name, holder);
    return first;
  };
  for (const holder of [...outside, ...records]) {
    for (const key of KEYS) if (isKept(holder, key)) register(holder, key);
  }
  return records.flatMap((record) => {
    const clashes = new Set<Holder | undefined>();
    return KEYS.flatMap((key) => {
      const first = isKept(record, key) ? undefined : register(record, key);
      // Two records with several equal keys are one problem.
      if (first === undefined || clashes.has(first)) return [];
      clashes.add(first);
      return [describeShared(record, key, first)];
    });
  });
}

function describeShared(
  { location, keys }: ParsedRecord<unknown>,
  key: (typeof KEYS)[number],
  { location: holderLocation, keys: { id, slug } }: Holder,
): ImportProblem {
  const position = `the stored ${location.kind} ${slug}`;
  const holder = formatLocation(
    holderLocation ?? { position, key: { field: 'id', value: `${id}` } },
  );
  if (key !== 'id') {
    const message = `repeats the ${key} of ${holder}`;
    return { location, path: key, value: keys[key], message };
  }
  return { location, path: '', message: `is the same ${location.kind} as ${holder}` };
}

/**
 * Finds new records whose derived id is the id of a stored record. For example, a new "casa-b" would get
 * the id of a listing that was added as "casa-b" and renamed to "casa-c".
 */
function findTakenIds(
  records: readonly ParsedRecord<unknown>[],
  stored: readonly StoredKeys[],
): ImportProblem[] {
  const before = new Map(stored.map((record) => [record.id, record]));
  return records.flatMap(({ location, keys, writtenKeys }): ImportProblem[] => {
    const { id, hid, slug } = writtenKeys;
    const holder = id === undefined ? before.get(keys.id ?? '') : undefined;
    // A repeated import may add a listing again whose slug an undo has replaced.
    if (holder === undefined || holder.slug === makeUndoneSlug(holder.id)) return [];
    if (holder.slug === slug || (hid !== undefined && holder.hid === hid)) return [];
    const path = hid === undefined ? 'slug' : 'hid';
    const name = `${location.kind} ${holder.slug ?? holder.id}`;
    return [{ location, ...takenId(path, keys[path], name, path, 'slug') }];
  });
}

/** Finds new photos and videos whose derived id is the id of a stored entry with a different URL. */
function findTakenEntries(
  { location, keys, writtenKeys, value: listing }: ParsedRecord<FileListing>,
  stored: Catalogue,
): ImportProblem[] {
  const old = stored.listings.get(keys.id ?? '')?.listing;
  if (old === undefined || listing === undefined) return [];
  return (['photos', 'videos'] as const).flatMap((list) =>
    listing[list].flatMap(({ id, url }, index): ImportProblem[] => {
      const holder = old[list].find((entry) => entry.id === id);
      if (!holder || holder.url === url || writtenKeys[list].includes(id)) return [];
      const name = `${list === 'photos' ? 'photo' : 'video'} ${holder.url}`;
      return [{ location, ...takenId(`${list}.${index}.url`, url, name, 'url', 'url') }];
    }),
  );
}

function takenId(
  path: string,
  value: unknown,
  holder: string,
  from: string,
  key: string,
): FieldProblem {
  const message = `gives the id of the stored ${holder}, which had this ${from} before`;
  const hint = `Give the new one another id, or name the stored one by its id or ${key}.`;
  return { path, value, message, hint };
}

/** Finds references to locations and amenities that neither the file nor the store has. */
function findUnknownReferences(
  { locations, amenities, properties }: CompleteFile,
  references: References,
): ImportProblem[] {
  const fileLocations = locations.flatMap(({ keys }) => [keys.id, keys.slug]);
  const names = {
    location: new Set([...references.locations.keys(), ...fileLocations]),
    amenity: new Set([...references.amenities.keys(), ...amenities.map(({ keys }) => keys.slug)]),
  };
  return properties.flatMap(({ location, keys }) => {
    const check = (kind: keyof typeof names, path: string, name?: string): ImportProblem[] => {
      if (name === undefined || names[kind].has(name)) return [];
      const subject = `${kind} ${JSON.stringify(asTyped(name, location, path))}`;
      const candidates = [...names[kind]].filter((candidate) => candidate !== undefined);
      const unknown = { name, knownNames: candidates };
      return [
        { location, path, subject, message: 'is not known', unknown, remedy: REFERENCE_LIST },
      ];
    };
    return [
      ...check('location', 'location_id', keys.location_id),
      ...check('location', 'location', keys.location),
      ...keys.amenities.flatMap((key, index) => check('amenity', `amenities.${index}`, key)),
    ];
  });
}
