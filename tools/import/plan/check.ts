/** Checks the catalogue as an import would leave it: unique keys, and known references. Pure. */

import type { CompleteFile } from '../read/complete.ts';
import { type Fault, formatName, type ImportProblem } from '../read/problem.ts';
import { type FileListing, type StoredKeys, slugOfUndone } from '../read/records.ts';
import { type Catalogue, sourcesOf } from '../read/store.ts';
import type { CompleteRecord } from '../read/types.ts';
import type { Known } from './types.ts';

const KNOWN_ONES =
  '`npm run -s export-listings -- --out catalogue.xlsx` lists the known locations and amenities in their sheets, where a row adds one.';

export function checkCatalogue(
  file: CompleteFile,
  stored: Catalogue,
  known: Known,
): ImportProblem[] {
  const { locations, amenities, properties, removed } = file;
  const places = stored.locations.filter(({ id }) => !removed.includes(id));
  const sources = sourcesOf(stored);
  return [
    ...findSharedKeys(locations, places),
    ...findSharedKeys(amenities, []),
    ...findSharedKeys(properties, sources),
    ...findTakenIds(locations, places),
    ...findTakenIds(properties, sources),
    ...properties.flatMap((record) => findTakenEntries(record, stored)),
    ...findUnknownReferences(file, known),
  ];
}

/** Two records with several equal keys are one problem, of the first of these keys. */
const EARLIER_KEYS = { id: [], slug: ['id'], hid: ['id', 'slug'] } as const;

/**
 * Finds the records of the file that get the id, the slug or the `hid` of another record. A record
 * that has had its slug or `hid` before keeps it: the other one is the problem.
 */
function findSharedKeys(
  records: readonly CompleteRecord<unknown>[],
  stored: readonly StoredKeys[],
): ImportProblem[] {
  const before = new Map(stored.map((each) => [each.id, each]));
  const inFile = new Set(records.map(({ keys }) => keys.id));
  const holders = [
    ...stored.filter(({ id }) => !inFile.has(id)).map((keys) => ({ keys, name: undefined })),
    ...records.map(({ keys, name }) => ({ keys, name })),
  ];
  return (['id', 'slug', 'hid'] as const).flatMap((key) => {
    const isNew = ({ keys }: (typeof holders)[number]) =>
      key === 'id' || before.get(keys.id ?? '')?.[key] !== keys[key];
    const groups = Map.groupBy(holders, ({ keys }) => keys[key] ?? undefined);
    groups.delete(undefined);
    return [...groups].flatMap(([value, group]) => {
      const [first, ...others] = group.toSorted((a, b) => Number(isNew(a)) - Number(isNew(b)));
      return others.filter(isNew).flatMap(({ keys, name: record }): ImportProblem[] => {
        if (first === undefined || record === undefined) return [];
        if (EARLIER_KEYS[key].some((each) => keys[each] && keys[each] === first.keys[each]))
          return [];
        const { id, slug } = first.keys;
        const place = `the stored ${record.kind} ${slug}`;
        const holder = formatName(first.name ?? { place, key: { field: 'id', value: `${id}` } });
        if (key !== 'id') {
          return [{ record, path: key, value, sentence: `repeats the ${key} of ${holder}` }];
        }
        const remedy =
          slug === keys.slug ? 'give a copy another slug' : 'clear the hidden id of a copy';
        const advice = record.cellAt === undefined ? '' : `: ${remedy}`;
        const sentence = `is the same ${record.kind} as ${holder}${advice}`;
        return [{ record, path: '', sentence }];
      });
    });
  });
}

/**
 * Finds the records whose id follows from a key that a stored record had before: a new "casa-b" gets
 * the id of a listing that was "casa-b" once, and is "casa-c" now.
 */
function findTakenIds(
  records: readonly CompleteRecord<unknown>[],
  stored: readonly StoredKeys[],
): ImportProblem[] {
  const before = new Map(stored.map((each) => [each.id, each]));
  return records.flatMap(({ name: record, keys, writtenKeys }): ImportProblem[] => {
    const { id, hid, slug } = writtenKeys;
    const holder = id === undefined ? before.get(keys.id ?? '') : undefined;
    // An undo has taken the slug of a listing that the same import adds again.
    if (holder === undefined || holder.slug === slugOfUndone(holder.id)) return [];
    if (holder.slug === slug || (hid !== undefined && holder.hid === hid)) return [];
    const path = hid === undefined ? 'slug' : 'hid';
    const name = `${record.kind} ${holder.slug ?? holder.id}`;
    return [{ record, ...takenId(path, keys[path], name, path, 'slug') }];
  });
}

/** Finds the photos and videos whose address gives them the id of another stored one. */
function findTakenEntries(
  { name: record, keys, writtenKeys, value: listing }: CompleteRecord<FileListing>,
  stored: Catalogue,
): ImportProblem[] {
  const old = stored.listings.get(keys.id ?? '')?.listing;
  if (old === undefined || listing === undefined) return [];
  return (['photos', 'videos'] as const).flatMap((list) =>
    listing[list].flatMap(({ id, url }, index): ImportProblem[] => {
      const holder = old[list].find((each) => each.id === id);
      if (!holder || holder.url === url || writtenKeys[list].includes(id)) return [];
      const name = `${list === 'photos' ? 'photo' : 'video'} ${holder.url}`;
      return [{ record, ...takenId(`${list}.${index}.url`, url, name, 'url', 'url') }];
    }),
  );
}

function takenId(path: string, value: unknown, holder: string, from: string, key: string): Fault {
  const sentence = `gives the id of the stored ${holder}, which had this ${from} before: give the new one another id, or name the stored one by its id or ${key}`;
  return { path, value, sentence };
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
      return [{ record, path, subject, sentence: 'is not known', unknown, remedy: KNOWN_ONES }];
    };
    return [
      ...check('location', 'location_id', keys.location_id),
      ...check('location', 'location', keys.location),
      ...keys.amenities.flatMap((key, index) => check('amenity', `amenities.${index}`, key)),
    ];
  });
}
