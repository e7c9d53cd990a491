/**
 * The plan of an import: the records of the file with their references resolved, and everything
 * about them that is wrong against the store. Pure: what the store holds is a parameter.
 */

import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import type { FileRecord, ListingsFile } from './file.ts';
import type { ImportProblem } from './problem.ts';
import type { WrittenListing } from './records.ts';

/** The records that the store holds under the keys of the file. */
export type Stored = {
  /** The listings and locations that have an id or a slug of the file. */
  listings: readonly { id: string; slug: string }[];
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

/** Resolves the file against the store. */
export function planImport(file: ListingsFile, stored: Stored): Plan {
  const locations = new Map(stored.locations.map((each) => [each.id, each]));
  const amenities = new Map(stored.amenities.map((each) => [each.slug, each]));
  const changedLocations = valuesOf(file.locations).filter(
    (each) => !equals(each, locations.get(each.id)),
  );
  const changedAmenities = valuesOf(file.amenities).filter(
    (each) => !equals(each, amenities.get(each.slug)),
  );
  for (const each of changedLocations) locations.set(each.id, each);
  for (const each of changedAmenities) amenities.set(each.slug, each);

  const knownLocations = new Set([
    ...locations.keys(),
    ...file.locations.map(({ keys }) => keys.id),
  ]);
  const knownAmenities = new Set([
    ...amenities.keys(),
    ...file.amenities.map(({ keys }) => keys.slug),
  ]);
  return {
    problems: [
      ...slugCollisions(file.locations, stored.locations, 'location'),
      ...slugCollisions(file.properties, stored.listings, 'listing'),
      ...file.properties.flatMap((record) =>
        danglingReferences(record, knownLocations, knownAmenities),
      ),
    ],
    changedLocations,
    changedAmenities,
    sources: valuesOf(file.properties).map((each) => sourceOf(each, locations, amenities)),
  };
}

/** Returns a problem for each slug of the file that a stored record keeps: one that the file does not replace. */
function slugCollisions(
  records: readonly FileRecord<unknown>[],
  stored: readonly { id: string; slug: string | null }[],
  what: string,
): ImportProblem[] {
  const replaced = new Set(records.map(({ keys }) => keys.id));
  const kept = new Map(
    stored.filter(({ id }) => !replaced.has(id)).map(({ id, slug }) => [slug, id]),
  );
  return records.flatMap(({ name, keys }) => {
    const holder = keys.slug === undefined ? undefined : kept.get(keys.slug);
    if (holder === undefined) return [];
    return [{ record: name, path: 'slug', message: `is that of the stored ${what} ${holder}` }];
  });
}

function danglingReferences(
  { name, keys }: FileRecord<WrittenListing>,
  locations: ReadonlySet<string | undefined>,
  amenities: ReadonlySet<string | undefined>,
): ImportProblem[] {
  const problems = keys.amenities.flatMap((slug, index) =>
    slug === undefined || amenities.has(slug)
      ? []
      : [
          {
            record: name,
            path: `amenities.${index}`,
            message: `names ${JSON.stringify(slug)}, an amenity that is neither in the file nor in the store`,
          },
        ],
  );
  if (keys.location_id !== undefined && !locations.has(keys.location_id)) {
    const message = 'names a location that is neither in the file nor in the store';
    problems.unshift({ record: name, path: 'location_id', message });
  }
  return problems;
}

/** Puts what a listing names into it. A name that is not known has its problem already. */
function sourceOf(
  listing: WrittenListing,
  locations: ReadonlyMap<string, Location>,
  amenities: ReadonlyMap<string, Amenity>,
): Source {
  const { location_id, amenities: slugs, ...own } = listing;
  return {
    ...own,
    location: location_id === null ? null : (locations.get(location_id) ?? null),
    amenities: slugs.flatMap((slug) => amenities.get(slug) ?? []),
  };
}

function valuesOf<T>(records: readonly FileRecord<T>[]): T[] {
  return records.flatMap(({ value }) => (value === undefined ? [] : [value]));
}

/** Compares records whose fields one schema has put in order. */
function equals(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
