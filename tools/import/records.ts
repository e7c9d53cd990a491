/** The records of a listings file (docs/listings-file.md). */

import * as z from 'zod';
import { uuid } from '../../src/http/uuid.ts';
import { amenity, location } from '../../src/properties/resource.ts';
import { ownFields } from '../../src/properties/source.ts';
import { MAX_LIST_ENTRIES, slug } from '../../src/properties/text.ts';

/** A property. It names its location by id, and its amenities by slug, in the order to show. */
export const writtenListing = z.strictObject({
  ...ownFields,
  location_id: uuid.nullable().default(null),
  amenities: z.array(slug).max(MAX_LIST_ENTRIES).default([]),
});

/** A location. Its id is read in either case, and its slug may be left out. */
export const writtenLocation = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
});

/** An amenity. */
export const writtenAmenity = amenity;

export type WrittenListing = z.infer<typeof writtenListing>;
