/**
 * A listing as it is imported and stored: everything that its wire resource is rendered from.
 * A listings file names its location and amenities; a `Source` has them resolved into it.
 */

import * as z from 'zod';
import { uuid } from '../http/uuid.ts';
import { type LocaleMap, localeMap, mapLocales } from './locale-map.ts';
import { amenity, location, PHOTO_SECTIONS, PUBLIC_STATUSES, sharedFields } from './resource.ts';
import { richText } from './rich-text.ts';
import { httpUrl, MAX_LIST_ENTRIES, order, slug, text } from './text.ts';

/** A locale map as written: blank text of a language is no text. */
const writtenLocaleMap = localeMap.transform((map): LocaleMap => mapLocales(map, (value) => value));

const photo = z.strictObject({
  id: uuid,
  url: httpUrl,
  alt: writtenLocaleMap.default({}),
  section: z.enum(PHOTO_SECTIONS),
  web_visible: z.boolean(),
  web_sort_order: order,
});

const video = z.strictObject({
  id: uuid,
  url: httpUrl,
  type: text,
  web_visible: z.boolean(),
  sort_order: order,
});

/** What a listing says itself, the same in a listings file and in the store. */
const ownFields = {
  id: uuid,
  hid: sharedFields.hid.default(null),
  slug: sharedFields.slug,
  name: sharedFields.name,
  status: z.enum([...PUBLIC_STATUSES, 'hidden']),
  title: writtenLocaleMap.default({}),
  type: sharedFields.type.default(null),
  description: z
    .strictObject({
      en: richText.exactOptional(),
      es: richText.exactOptional(),
      fr: richText.exactOptional(),
    })
    .default({}),
  unique_features: z
    .array(z.strictObject({ icon_slug: text, label: writtenLocaleMap }))
    .max(MAX_LIST_ENTRIES)
    .default([]),
  bedrooms: sharedFields.bedrooms.default(null),
  beds: sharedFields.beds.default(null),
  bathrooms: sharedFields.bathrooms.default(null),
  bathtubs: sharedFields.bathtubs.default(null),
  capacity: sharedFields.capacity.default(null),
  size: sharedFields.size.default(null),
  address: sharedFields.address.default(null),
  city: sharedFields.city.default(null),
  latitude: sharedFields.latitude.default(null),
  longitude: sharedFields.longitude.default(null),
  price_from: sharedFields.price_from.default(null),
  fraction_from: sharedFields.fraction_from.default(null),
  weeks_per_year: sharedFields.weeks_per_year.default(null),
  financial_analysis_url: sharedFields.financial_analysis_url.default(null),
  hero_photo_id: uuid.nullable().default(null),
  photos: z.array(photo).max(MAX_LIST_ENTRIES).default([]),
  videos: z.array(video).max(MAX_LIST_ENTRIES).default([]),
  location_text: writtenLocaleMap.default({}),
  display_order: sharedFields.display_order,
  is_early_access: sharedFields.is_early_access.default(false),
} as const;

/** A property of a listings file: its location by id, its amenities by slug, in the order to show. */
export const listing = z.strictObject({
  ...ownFields,
  location_id: uuid.nullable().default(null),
  amenities: z.array(slug).max(MAX_LIST_ENTRIES).default([]),
});

/** A location and an amenity as a listings file writes them. */
export const writtenLocation = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
  name: writtenLocaleMap,
});
export const writtenAmenity = amenity.extend({ label: writtenLocaleMap });

/** A listing as stored. */
export const source = z.strictObject({
  ...ownFields,
  location: location.nullable(),
  amenities: z.array(amenity),
});

export type Listing = z.infer<typeof listing>;
export type Location = z.infer<typeof location>;
export type Amenity = z.infer<typeof amenity>;
export type Source = z.infer<typeof source>;
