/** The listings file that undoes an import: the changed records as they are stored now. Pure. */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { Effect } from '../plan/types.ts';
import { type FileListing, toFileListing } from '../read/records.ts';
import type { Removed } from '../read/types.ts';
import { writeListingsFile } from './listings-file.ts';

/** Returns the file in pieces. It hides the added listings, and removes the added records. */
export function undoFile({ records, replaced, added }: Effect): Generator<string> {
  const locations: Location[] = [];
  const amenities: Amenity[] = [];
  const removed: Removed = { locations: [], amenities: [] };
  for (const { kind, key, old } of records) {
    if (old === undefined) removed[kind === 'location' ? 'locations' : 'amenities'].push(key);
    else if ('label' in old) amenities.push(old);
    else locations.push(old);
  }
  const slugs = new Set(replaced.map(({ slug }) => slug));
  function* listings() {
    for (const each of replaced) yield toFileListing(each);
    for (const each of added) yield hiddenListing(each, slugs, removed);
  }
  return writeListingsFile({ locations, amenities, removed }, listings());
}

/** An added listing, hidden, without the slug of a restored one and without removed records. */
function hiddenListing(
  listing: Source,
  restoredSlugs: ReadonlySet<string>,
  { locations, amenities }: Removed,
): FileListing {
  const own = toFileListing(listing);
  const { id, slug, location_id } = own;
  return {
    ...own,
    status: 'hidden',
    slug: restoredSlugs.has(slug) ? `undone-${id}` : slug,
    location_id: location_id !== null && locations.includes(location_id) ? null : location_id,
    amenities: own.amenities.filter((each) => !amenities.includes(each)),
  };
}
