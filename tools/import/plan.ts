/**
 * The plan of an import: the records of the file with their references resolved, and every problem of them against the
 * store. Pure: the stored records are a parameter.
 */

import { cardOf, render } from '../../src/properties/render.ts';
import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import type { FileRecord, WholeFile } from './file.ts';
import { counted, type ImportProblem, type RecordName, THE_FILE } from './problem.ts';
import type { FileListing } from './records.ts';
import { stagedRowOf } from './rows.ts';

/** The records that the store holds under the keys of the file. */
export type Stored = {
  /** The listings that have an id or a slug of the file. */
  listings: readonly { id: string; slug: string }[];
  /** For a patch: the listings that its records name. */
  sources: readonly Source[];
  locations: readonly Location[];
  amenities: readonly Amenity[];
};

/** The records to be written. */
export type Plan = {
  /** Every problem against the store. A plan with problems is not to be carried out. */
  problems: ImportProblem[];
  /** The locations and amenities of the file that the store does not hold as they are. */
  changedLocations: Location[];
  changedAmenities: Amenity[];
  /** Every valid listing of the file. */
  sources: Source[];
};

/** The locations and amenities that listings may name, by their keys. */
type Known = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

/** Resolves the file against the store. `publicSiteUrl` has no trailing slash. */
export function planImport(file: WholeFile, stored: Stored, publicSiteUrl: string): Plan {
  const known: Known = { locations: new Map(), amenities: new Map() };
  for (const { location, amenities } of stored.sources) {
    if (location !== null) known.locations.set(location.id, location);
    for (const each of amenities) known.amenities.set(each.slug, each);
  }
  for (const each of stored.locations) known.locations.set(each.id, each);
  for (const each of stored.amenities) known.amenities.set(each.slug, each);
  const changedLocations = valuesOf(file.locations).filter(
    (each) => !equals(each, known.locations.get(each.id)),
  );
  const changedAmenities = valuesOf(file.amenities).filter(
    (each) => !equals(each, known.amenities.get(each.slug)),
  );
  for (const each of changedLocations) known.locations.set(each.id, each);
  for (const each of changedAmenities) known.amenities.set(each.slug, each);

  const bySlug = new Map([...known.locations.values()].map((each) => [each.slug, each]));
  const resolved = file.properties.flatMap(({ name, value }) =>
    value === undefined ? [] : [{ name, source: sourceOf(value, known, bySlug) }],
  );
  return {
    problems: [
      ...slugCollisions(file.locations, stored.locations, 'location'),
      ...slugCollisions(file.properties, stored.listings, 'listing'),
      ...unknownReferences(file, known),
      ...file.properties.flatMap(heroProblems),
      ...resolved.flatMap(({ name, source }) => sizeProblems(source, name, publicSiteUrl)),
    ],
    changedLocations,
    changedAmenities,
    sources: resolved.map(({ source }) => source),
  };
}

/** Returns a problem for each slug of the file that a stored record keeps: one that the file does not replace. */
function slugCollisions(
  records: readonly FileRecord<unknown>[],
  stored: readonly { id: string; slug: string | null }[],
  kind: string,
): ImportProblem[] {
  const replaced = new Set(records.map(({ keys }) => keys.id));
  const kept = new Map(
    stored.filter(({ id }) => !replaced.has(id)).map(({ id, slug }) => [slug, id]),
  );
  return records.flatMap(({ name, keys, idField }) => {
    const holder = keys.slug === undefined ? undefined : kept.get(keys.slug);
    if (holder === undefined) return [];
    const advice = idField === 'id' ? '' : ': give that id, or import the file with --patch';
    const message = `is the slug of the stored ${kind} ${holder}${advice}`;
    return [{ record: name, path: 'slug', message, value: keys.slug }];
  });
}

/** The message for a name of a location or an amenity that is neither in the file nor in the store. */
export const NOT_KNOWN = 'is not known';

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
    const unknown = (path: string, kind: string, key: string | undefined, all: Set<unknown>) =>
      key === undefined || all.has(key)
        ? []
        : [{ record, path, subject: `${kind} ${JSON.stringify(key)}`, message: NOT_KNOWN }];
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
  const message = 'must be the address of one of the photos of this listing';
  return [{ record: name, path: 'hero_photo', message, value: hero_photo }];
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
export function sizeProblems(
  listing: Source,
  record: RecordName,
  publicSiteUrl: string,
): ImportProblem[] {
  const tooLarge = (to: string, bytes: number): ImportProblem[] =>
    bytes <= MAX_BYTES
      ? []
      : [
          {
            record,
            path: '',
            message: `is too large to ${to}: ${bytes} bytes, at most ${MAX_BYTES}`,
          },
        ];
  const stored = tooLarge('store', Buffer.byteLength(stagedRowOf(listing).json));
  if (stored.length > 0) return stored;
  const document = render(listing, publicSiteUrl);
  const rendered = JSON.stringify([document, document && cardOf(document)]);
  return tooLarge('show', Buffer.byteLength(rendered));
}

/** The fate of the public listings that a file does not name. `some`: at most a fifth of them is hidden. */
export type Pruning = 'none' | 'some' | 'all';

/** No more than this share of the public listings is hidden or emptied, unless the user allows it. */
const MAX_SHARE = 1 / 5;

/** Reports whether so many of the public listings are more than a fifth. */
export function isTooMany(count: number, publicListings: number): boolean {
  return count > publicListings * MAX_SHARE;
}

/** Returns the ids of the public listings that a file does not name, or the problem that there are too many of them. */
export function prune(
  file: WholeFile,
  publicIds: readonly string[],
  pruning: Pruning,
): { ids: string[]; problems: ImportProblem[] } {
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  const ids = publicIds.filter((id) => !named.has(id));
  if (pruning === 'all' || !isTooMany(ids.length, publicIds.length)) return { ids, problems: [] };
  const message = `leaves out ${ids.length} of the ${counted(publicIds.length, 'public listing')}, more than a fifth: --prune=all hides them all`;
  return { ids, problems: [{ record: THE_FILE, path: '', message }] };
}

function valuesOf<T>(records: readonly FileRecord<T>[]): T[] {
  return records.flatMap(({ value }) => (value === undefined ? [] : [value]));
}

/** Compares records whose fields one schema has put in order. */
function equals(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
