/** The stored listings outside the file that show a location or an amenity which the file changes. */

import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import type { Plan, Stored } from './plan.ts';
import { findUsers } from './store.ts';

/** Returns these listings, page by page, with the changed locations and amenities. A pruned listing is also hidden. */
export async function* affectedListings(
  database: D1Database,
  plan: Plan,
  stored: Stored,
  pruned: ReadonlySet<string>,
): AsyncGenerator<Source[]> {
  const inFile = new Set(plan.sources.map(({ id }) => id));
  const locations = replacements(plan.changedLocations, stored.locations, ({ id }) => id);
  const amenities = replacements(plan.changedAmenities, stored.amenities, ({ slug }) => slug);
  for await (const users of findUsers(database, [...locations.values()], [...amenities.values()])) {
    yield users
      .filter(({ id }) => !inFile.has(id))
      .map((listing) => withChanges(listing, locations, amenities))
      .map((listing) => (pruned.has(listing.id) ? { ...listing, status: 'hidden' } : listing));
  }
}

function withChanges(
  listing: Source,
  locations: ReadonlyMap<string, Location>,
  amenities: ReadonlyMap<string, Amenity>,
): Source {
  const { location } = listing;
  return {
    ...listing,
    location: location && (locations.get(location.id) ?? location),
    amenities: listing.amenities.map((each) => amenities.get(each.slug) ?? each),
  };
}

/** Returns the changed records that the store holds, by key: no stored listing uses a new one. */
function replacements<T>(changed: readonly T[], stored: readonly T[], key: (record: T) => string) {
  const known = new Set(stored.map(key));
  return new Map(changed.filter((each) => known.has(key(each))).map((each) => [key(each), each]));
}
