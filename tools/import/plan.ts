/**
 * The plan of an import: the records of the file with their references resolved, and every problem of them against the
 * store. Pure: the stored catalogue is a parameter.
 */

import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import type { FileRecord, WholeFile } from './file.ts';
import { counted, type ImportProblem, type RecordName, THE_FILE } from './problem.ts';
import type { FileListing } from './records.ts';
import { type ListingRow, rowOf } from './rows.ts';
import type { Catalogue } from './store.ts';

/** A location or amenity of the file that the store does not hold as it is. `old` is undefined for a new one. */
export type RecordChange<T> = { old: T | undefined; now: T };

export type Plan = {
  /** Every problem against the store. */
  problems: ImportProblem[];
  locations: RecordChange<Location>[];
  amenities: RecordChange<Amenity>[];
  /** Every valid listing of the file. */
  sources: Source[];
  /** The rows of the listings that the store lacks, holds with another source, or has rendered by other rules. */
  rows: ListingRow[];
};

/** The locations and amenities that listings may name, by their keys. */
type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function planImport(file: WholeFile, stored: Catalogue, publicSiteUrl: string): Plan {
  const known: Known = { locations: new Map(), amenities: new Map() };
  for (const each of stored.locations) known.locations.set(each.id, each);
  for (const each of stored.amenities) known.amenities.set(each.slug, each);
  const locations = replaceIn(known.locations, file.locations, ({ id }) => id);
  const amenities = replaceIn(known.amenities, file.amenities, ({ slug }) => slug);

  const bySlug = new Map([...known.locations.values()].map((each) => [each.slug, each]));
  const planned = file.properties.flatMap(({ name, value }) =>
    value === undefined
      ? []
      : [{ name, row: rowOf(sourceOf(value, known, bySlug), publicSiteUrl) }],
  );
  return {
    problems: [
      ...slugCollisions(file.locations, stored.locations),
      ...slugCollisions(file.properties, [...stored.heads.values()]),
      ...unknownReferences(file, known),
      ...file.properties.flatMap(heroProblems),
      ...planned.flatMap(({ name, row }) => sizeProblems(row, name)),
    ],
    locations,
    amenities,
    sources: planned.map(({ row }) => row.listing),
    rows: planned.map(({ row }) => row).filter((row) => differs(row, stored)),
  };
}

/** Puts the records of a file into `known`. Returns the changed ones. */
function replaceIn<T>(
  known: Map<string, T>,
  records: readonly FileRecord<T>[],
  keyOf: (record: T) => string,
): RecordChange<T>[] {
  return records.flatMap(({ value: now }) => {
    if (now === undefined) return [];
    const old = known.get(keyOf(now));
    // One schema has put the fields of both in order.
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    known.set(keyOf(now), now);
    return [{ old, now }];
  });
}

function differs({ columns }: ListingRow, { heads }: Catalogue): boolean {
  const head = heads.get(columns.id);
  return head === undefined || !head.is_current || head.source_hash !== columns.source_hash;
}

/** Rejects slugs of stored records that the file does not replace. */
function slugCollisions(
  records: readonly FileRecord<unknown>[],
  stored: readonly { id: string; slug: string | null }[],
): ImportProblem[] {
  const replaced = new Set(records.map(({ keys }) => keys.id));
  const kept = new Map(
    stored.filter(({ id }) => !replaced.has(id)).map(({ id, slug }) => [slug, id]),
  );
  return records.flatMap(({ name, keys, idField }): ImportProblem[] => {
    const holder = keys.slug === undefined ? undefined : kept.get(keys.slug);
    if (holder === undefined) return [];
    const code = idField === 'id' ? 'slug_taken' : 'slug_taken_by_other_id';
    const details = [`${name.kind} ${holder}`];
    return [{ record: name, path: 'slug', code, details, value: keys.slug }];
  });
}

/** Rejects names of locations and amenities that are neither in the file nor in the store. */
function unknownReferences(
  { locations, amenities, properties }: WholeFile,
  known: Known,
): ImportProblem[] {
  const inFile = (records: readonly FileRecord<unknown>[], field: 'id' | 'slug') =>
    records.map(({ keys }) => keys[field]);
  const locationIds = new Set([...known.locations.keys(), ...inFile(locations, 'id')]);
  const locationSlugs = new Set([
    ...[...known.locations.values()].map(({ slug }) => slug),
    ...inFile(locations, 'slug'),
  ]);
  const amenitySlugs = new Set([...known.amenities.keys(), ...inFile(amenities, 'slug')]);
  return properties.flatMap(({ name: record, keys }) => {
    const unknown = (
      path: string,
      kind: string,
      key: string | undefined,
      all: ReadonlySet<unknown>,
    ): ImportProblem[] =>
      key === undefined || all.has(key)
        ? []
        : [{ record, path, subject: `${kind} ${JSON.stringify(key)}`, code: 'not_known' }];
    return [
      ...unknown('location_id', 'location', keys.location_id, locationIds),
      ...unknown('location', 'location', keys.location, locationSlugs),
      ...keys.amenities.flatMap((slug, index) =>
        unknown(`amenities.${index}`, 'amenity', slug, amenitySlugs),
      ),
    ];
  });
}

function heroProblems({ name, value }: FileRecord<FileListing>): ImportProblem[] {
  const { hero_photo, photos = [] } = value ?? {};
  if (typeof hero_photo !== 'string' || photos.some(({ url }) => url === hero_photo)) return [];
  return [{ record: name, path: 'hero_photo', code: 'hero_address', value: hero_photo }];
}

/** Resolves the names in a listing. Unknown names are problems already. */
function sourceOf(
  listing: FileListing,
  { locations, amenities }: Known,
  locationsBySlug: ReadonlyMap<string | null, Location>,
): Source {
  const { location_id, location: slug, hero_photo, amenities: slugs, ...own } = listing;
  const named = slug === undefined ? locations.get(location_id ?? '') : locationsBySlug.get(slug);
  return {
    ...own,
    ...(hero_photo !== undefined && {
      hero_photo_id: own.photos.find(({ url }) => url === hero_photo)?.id ?? null,
    }),
    location: slug === null ? null : (named ?? null),
    amenities: slugs.flatMap((each) => amenities.get(each) ?? []),
  };
}

/** A row of D1 holds 2 MB. The source may have almost half of it, and document and card together as much. */
const MAX_BYTES = 900_000;

export function sizeProblems({ columns }: ListingRow, record: RecordName): ImportProblem[] {
  const tooLarge = (to: string, ...texts: (string | null)[]): ImportProblem[] => {
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0);
    if (bytes <= MAX_BYTES) return [];
    return [{ record, path: '', code: 'too_large', details: [to, bytes, MAX_BYTES] }];
  };
  const stored = tooLarge('store', columns.source);
  return stored.length > 0 ? stored : tooLarge('show', columns.document, columns.card);
}

/** The fate of the public listings that a file does not name. `some`: at most a fifth of them is hidden. */
export type Pruning = 'none' | 'some' | 'all';

export function prunedIds(file: WholeFile, stored: Catalogue, pruning: Pruning): string[] {
  if (pruning === 'none') return [];
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  return publicIdsOf(stored).filter((id) => !named.has(id));
}

/** No more than this share of the public listings is hidden or emptied, unless the user allows it. */
const MAX_SHARE = 1 / 5;

/** Returns the problem that too many public listings are hidden or emptied. */
export function guardShare(
  code: 'prunes_too_many' | 'empties_too_many',
  count: number,
  stored: Catalogue,
): ImportProblem[] {
  const all = publicIdsOf(stored).length;
  if (count <= all * MAX_SHARE) return [];
  const details = [count, counted(all, 'public listing')];
  return [{ record: THE_FILE, path: '', code, details }];
}

function publicIdsOf({ heads }: Catalogue): string[] {
  return [...heads.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
}
