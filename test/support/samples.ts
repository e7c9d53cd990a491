/** The sample listings as an import would store them. */

import type { Source } from '../../src/properties/source.ts';
import { writtenListing } from '../../tools/import/read/records.ts';
import samples from '../../tools/samples/listings.json';
import { sourceOf } from './listings.ts';

/** Returns every sample listing, hidden ones too. */
export function sampleSources(): Source[] {
  return samples.properties.map((each) => {
    const { location_id, amenities, ...fields } = writtenListing.parse(each);
    return sourceOf({
      ...fields,
      location: samples.locations.find(({ id }) => id === location_id) ?? null,
      amenities: amenities.flatMap(
        (slug) => samples.amenities.find((known) => known.slug === slug) ?? [],
      ),
    });
  });
}
