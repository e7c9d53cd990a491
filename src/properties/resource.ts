/** The property resource: what the feed sends (docs/property-feed.md). */

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
export const location = z
  .strictObject({ id: lowerCaseUuid, slug: slug.nullable(), name: localeMap })
  .meta({ id: 'PropertyLocation', description: 'A place that listings name.' });

/** A location as a resource of its own. */
export const locationResource = z
  .strictObject({ object: z.literal('location'), ...location.shape })
  .meta({ id: 'LocationResource', description: 'A place that listings may name.' });

/** An amenity as a listing shows it. */
export const amenity = z
  .strictObject({ slug, label: localeMap })
  .meta({ id: 'Amenity', description: 'Something that a home offers.' });

/** A photo of the gallery. */
const galleryItem = z.strictObject({
  url: httpUrl,
  alt: localeMap,
  section: z.enum(PHOTO_SECTIONS),
  sort_order: order.meta({ examples: [1] }),
});

const count = z.number().min(0).nullable();

/**
 * A listing as the feed sends it, its fields in the order of the wire. A field that is null, empty or
 * false when unknown needs no other line: listings files, the store and `render` copy it, unless
 * source.ts names it among those that `render` makes.
 */
export const property = z
  .strictObject({
    object: z.literal('property'),
    id: lowerCaseUuid.meta({ description: 'Identifies the property.' }),
    hid: text.nullable().meta({
      description: 'External home id; null when the property is not synchronised from upstream.',
      examples: ['H-1042'],
    }),
    slug: slug.meta({ description: 'Stable public key.', examples: ['casa-marea'] }),
    name: text
      .min(1)
      .meta({ description: 'Internal name, not localized.', examples: ['Casa Marea'] }),
    status: z.enum(PUBLIC_STATUSES).meta({ description: 'Actual web status, never `hidden`.' }),
    title: localeMap.meta({ description: 'Localized web title.' }),
    type: z.enum(PROPERTY_TYPES).nullable().meta({ description: 'Kind of place.' }),
    description: localeMap.meta({
      description: 'Plain text in each language; paragraphs are separated by a blank line.',
    }),
    unique_features: z
      .array(z.strictObject({ icon_slug: text.meta({ examples: ['sea-view'] }), label: localeMap }))
      .max(MAX_LIST_ENTRIES)
      .meta({ description: 'What sets the home apart; may be empty.' }),
    bedrooms: count.meta({ examples: [3] }),
    beds: count.meta({ examples: [4] }),
    bathrooms: count.meta({ examples: [2] }),
    bathtubs: count.meta({ examples: [1] }),
    capacity: count.meta({ description: 'People who can stay.', examples: [6] }),
    size: count.meta({ description: 'Square metres.', examples: [104] }),
    address: text.nullable().meta({ examples: ['Via delle Concerie 27'] }),
    city: text.nullable().meta({ examples: ['Bosa'] }),
    latitude: z.number().min(-90).max(90).nullable().meta({ description: 'Degrees, WGS 84.' }),
    longitude: z.number().min(-180).max(180).nullable().meta({ description: 'Degrees, WGS 84.' }),
    price_from: count.meta({ description: 'Price of the smallest share.', examples: [118000] }),
    fraction_from: z
      .string()
      .max(MAX_TEXT_CHARACTERS)
      .regex(/^[1-9]\d*\/[1-9]\d*$/, 'must be a fraction such as 1/8')
      .nullable()
      .meta({ description: 'Smallest ownership fraction.', examples: ['1/8'] }),
    weeks_per_year: count.meta({
      description: 'Weeks of use per year that the share gives.',
      examples: [6],
    }),
    financial_analysis_url: httpUrl.nullable(),
    hero_image: z
      .strictObject({ url: httpUrl, alt: localeMap })
      .nullable()
      .meta({ description: 'The selected hero photo, else the first photo of section hero.' }),
    gallery: z
      .array(galleryItem)
      .max(MAX_LIST_ENTRIES)
      .meta({ description: 'Every photo that the web shows, by `sort_order`.' }),
    video_url: httpUrl.nullable().meta({ description: 'Main web video.' }),
    location: location.nullable(),
    location_text: localeMap.meta({ description: 'Free-text blurb; `{}` when unset.' }),
    amenities: z.array(amenity).max(MAX_LIST_ENTRIES),
    url: httpUrl.meta({
      description: 'Canonical public address.',
      examples: ['https://www.example.com/listings/casa-marea'],
    }),
    display_order: order.meta({ description: 'Curatorial order, ascending.', examples: [210] }),
    is_early_access: z.boolean(),
  })
  .meta({ id: 'Property', description: 'A listing of the marketing site.' });

/** A listing as an overview page shows it: each field as in the property, in this order. */
export const propertyCard = z
  .strictObject({
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
  })
  .meta({
    id: 'PropertyCard',
    description: 'The fields of a listing that an overview page shows.',
  });

/** A listing, whole or as `fields` has cut it. */
export const anyProperty = z.union([
  property,
  property.partial().required({ object: true, id: true }).meta({
    id: 'PropertyPart',
    description: 'The fields of a listing that `fields` asks for.',
  }),
]);

export type LocationResource = z.infer<typeof locationResource>;
export type Property = z.infer<typeof property>;
export type PropertyCard = z.infer<typeof propertyCard>;
export type AnyProperty = z.infer<typeof anyProperty>;
