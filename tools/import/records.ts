/** The records of a listings file (docs/listings-file.md). */

import * as z from 'zod';
import { uuid } from '../../src/http/uuid.ts';
import { localized } from '../../src/properties/locale-map.ts';
import { amenity, location } from '../../src/properties/resource.ts';
import { ownFields, photo, video } from '../../src/properties/source.ts';
import { MAX_LIST_ENTRIES, slug } from '../../src/properties/text.ts';
import { writtenRichText } from './written-rich-text.ts';
import { writtenUrl } from './written-url.ts';

/** A list of a listing. It may be left out. */
const listOf = <Entry extends z.ZodType>(entry: Entry) =>
  z.array(entry).max(MAX_LIST_ENTRIES).default([]);

/**
 * A property. It names its location by id, and its amenities by slug, in the order to show. Rules that
 * are younger than stored listings stand here, and not in the schema by which those are read.
 */
export const writtenListing = z.strictObject({
  ...ownFields,
  description: localized(writtenRichText).default({}),
  financial_analysis_url: writtenUrl.nullable().default(null),
  photos: listOf(photo.extend({ url: writtenUrl })),
  videos: listOf(video.extend({ url: writtenUrl })),
  location_id: uuid.nullable().default(null),
  amenities: listOf(slug),
});

/** A location. Its id is read in either case, and its slug may be left out. */
export const writtenLocation = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
});

/** An amenity. */
export const writtenAmenity = amenity;

export type WrittenListing = z.infer<typeof writtenListing>;
