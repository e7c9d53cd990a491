/** The resources of the feed: property, card and location (docs/reference/property-feed.md). */

import * as z from 'zod';
import { lowerCaseUuid } from '../http/uuid.ts';
import { localeMap } from './locale-map.ts';
import { httpUrl, MAX_LIST_ENTRIES, MAX_TEXT_CHARACTERS, order, slug, text } from './text.ts';

/** The web statuses that the feed shows. A hidden listing is never on the wire. */
export const PUBLIC_STATUSES = ['listed', 'coming_soon', 'sold_out'] as const;
export const PROPERTY_TYPES = ['beach', 'ski'] as const;
export const PHOTO_SECTIONS = [
  'hero',
  'gallery',
  'studio',
  'location',
  'what_to_do',
  'other',
] as const;

/** A location as a listing shows it. */
export const location = z.strictObject({
  id: lowerCaseUuid,
  slug: slug.nullable(),
  name: localeMap,
});

/** A location as a resource of its own. */
export const locationResource = z.strictObject({
  object: z.literal('location'),
  ...location.shape,
});

/** An amenity as a listing shows it. */
export const amenity = z.strictObject({ slug, label: localeMap });

/** A feature that sets a home apart. */
export const feature = z.strictObject({ icon_slug: text, label: localeMap });

export const heroImage = z.strictObject({ url: httpUrl, alt: localeMap });

/** A photo of the gallery. */
export const galleryPhoto = z.strictObject({
  url: httpUrl,
  alt: localeMap,
  section: z.enum(PHOTO_SECTIONS),
  sort_order: order,
});

const count = z.number().min(0).nullable();

/**
 * A listing as the feed sends it, its fields in the order of the wire. A field that is null, empty or false when
 * unknown needs no other code: listings files, the store and `render` copy it, unless source.ts lists it among the
 * fields that `render` makes. Its words stand in openapi/schemas.ts.
 */
export const property = z.strictObject({
  object: z.literal('property'),
  id: lowerCaseUuid,
  hid: text.nullable(),
  slug,
  name: text.min(1),
  status: z.enum(PUBLIC_STATUSES),
  title: localeMap,
  type: z.enum(PROPERTY_TYPES).nullable(),
  description: localeMap,
  unique_features: z.array(feature).max(MAX_LIST_ENTRIES),
  bedrooms: count,
  beds: count,
  bathrooms: count,
  bathtubs: count,
  capacity: count,
  size: count,
  address: text.nullable(),
  city: text.nullable(),
  latitude: z.number().min(-90).max(90).nullable(),
  longitude: z.number().min(-180).max(180).nullable(),
  price_from: count,
  fraction_from: z
    .string()
    .max(MAX_TEXT_CHARACTERS)
    .regex(/^[1-9]\d*\/[1-9]\d*$/, 'must be a fraction such as 1/8')
    .nullable(),
  weeks_per_year: count,
  financial_analysis_url: httpUrl.nullable(),
  hero_image: heroImage.nullable(),
  gallery: z.array(galleryPhoto).max(MAX_LIST_ENTRIES),
  video_url: httpUrl.nullable(),
  location: location.nullable(),
  location_text: localeMap,
  amenities: z.array(amenity).max(MAX_LIST_ENTRIES),
  url: httpUrl,
  display_order: order,
  is_early_access: z.boolean(),
});

/** A listing as an overview page shows it: each field as in the property, in this order. */
export const propertyCard = z.strictObject({
  object: z.literal('property_card'),
  ...property.pick({
    id: true,
    slug: true,
    name: true,
    status: true,
    title: true,
    type: true,
    bedrooms: true,
    bathrooms: true,
    capacity: true,
    size: true,
    city: true,
    price_from: true,
    fraction_from: true,
    hero_image: true,
    location: true,
    url: true,
    display_order: true,
    is_early_access: true,
  }).shape,
});

export type LocationResource = z.infer<typeof locationResource>;
export type Property = z.infer<typeof property>;
export type PropertyCard = z.infer<typeof propertyCard>;
