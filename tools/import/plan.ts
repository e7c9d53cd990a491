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

/** The records to be written. */
export type Plan = {
  /** Every problem against the store. A plan with problems is not to be carried out. */
  problems: ImportProblem[];
  /** The locations and amenities of the file that the store does not hold as they are. */
  changedLocations: Location[];
  changedAmenities: Amenity[];
  /** Every valid listing of the file. */
  sources: Source[];
  /** The rows of the listings that the store lacks, holds with another source, or has rendered by other rules. */
  rows: ListingRow[];
};

/** The locations and amenities that listings may name, by their keys. */
type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function planImport(file: WholeFile, stored: Catalogue, publicSiteUrl: string): Plan {
  const known: Known = {
    locations: new Map(stored.locations.map((each) => [each.id, each])),
    amenities: new Map(stored.amenities.map((each) => [each.slug, each])),
  };
  const changedLocations = valuesOf(file.locations).filter(
    (each) => !equals(each, known.locations.get(each.id)),
  );
  const changedAmenities = valuesOf(file.amenities).filter(
    (each) => !equals(each, known.amenities.get(each.slug)),
  );
  for (const each of changedLocations) known.locations.set(each.id, each);
  for (const each of changedAmenities) known.amenities.set(each.slug, each);

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
    changedLocations,
    changedAmenities,
    sources: planned.map(({ row }) => row.listing),
    rows: planned.map(({ row }) => row).filter((row) => differs(row, stored)),
  };
}

function differs({ columns }: ListingRow, { heads }: Catalogue): boolean {
  const head = heads.get(columns.id);
  return head === undefined || !head.is_current || head.source_hash !== columns.source_hash;
}

/** Returns a problem for each slug of the file that a stored record keeps: one that the file does not replace. */
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

/** Returns a problem for each name of a location or an amenity that is neither in the file nor in the store. */
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

/** Puts the location, the hero photo and the amenities that a listing names into it. Unknown names are problems already. */
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

/** Returns a problem for a listing that is too large. */
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

/** No more than this share of the public listings is hidden or emptied, unless the user allows it. */
const MAX_SHARE = 1 / 5;

/** Reports whether this many of the public listings are more than a fifth. */
export function isTooMany(count: number, publicListings: number): boolean {
  return count > publicListings * MAX_SHARE;
}

/** Returns the ids of the stored public listings. */
export function publicIdsOf({ heads }: Catalogue): string[] {
  return [...heads.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
}

/** Returns the ids of the public listings that a file does not name, or the problem that there are too many of them. */
export function prune(
  file: WholeFile,
  stored: Catalogue,
  pruning: Pruning,
): { ids: string[]; problems: ImportProblem[] } {
  if (pruning === 'none') return { ids: [], problems: [] };
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  const publicIds = publicIdsOf(stored);
  const ids = publicIds.filter((id) => !named.has(id));
  if (pruning === 'all' || !isTooMany(ids.length, publicIds.length)) return { ids, problems: [] };
  const details = [ids.length, counted(publicIds.length, 'public listing')];
  return { ids, problems: [{ record: THE_FILE, path: '', code: 'prunes_too_many', details }] };
}

function valuesOf<T>(records: readonly FileRecord<T>[]): T[] {
  return records.flatMap(({ value }) => (value === undefined ? [] : [value]));
}

/** Compares records whose fields one schema has put in order. */
function equals(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
