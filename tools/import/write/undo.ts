/** The listings file that undoes an import: the changed records as they are stored now. Pure. */

import type { Source } from '../../../src/properties/source.ts';
import type { Effect, RecordChange } from '../plan/types.ts';
import { toFileListing } from '../read/records.ts';

/** Returns the text of the file. It hides the added listings, and removes the added records. */
export function undoFile({ records, replaced, added }: Effect): string {
  const [changedRecords, newRecords] = [records.filter(isStored), records.filter(isNew)];
  const restored = (kind: RecordChange['kind']) =>
    changedRecords.filter((each) => each.kind === kind).map(({ old }) => old);
  const removed = (kind: RecordChange['kind']) =>
    newRecords.filter((each) => each.kind === kind).map(({ key }) => key);
  const gone = { locations: removed('location'), amenities: removed('amenity') };
  const slugs = new Set(replaced.map(({ slug }) => slug));
  const hidden = added.map((each) => hiddenListing(each, slugs, gone));
  return JSON.stringify({
    locations: restored('location'),
    amenities: restored('amenity'),
    properties: [...replaced.map(toFileListing), ...hidden],
    removed: gone,
  });
}

const isStored = ({ old }: RecordChange) => old !== undefined;
const isNew = ({ old }: RecordChange) => old === undefined;

/** An added listing, hidden, without the slug of a restored one and without removed records. */
function hiddenListing(
  listing: Source,
  restoredSlugs: ReadonlySet<string>,
  gone: { locations: readonly string[]; amenities: readonly string[] },
) {
  const own = toFileListing(listing);
  const { id, slug, location_id } = own;
  return {
    ...own,
    status: 'hidden',
    slug: restoredSlugs.has(slug) ? `undone-${id}` : slug,
    location_id: location_id !== null && gone.locations.includes(location_id) ? null : location_id,
    amenities: own.amenities.filter((each) => !gone.amenities.includes(each)),
  };
}
