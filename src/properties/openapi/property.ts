/**
 * The resources of the feed (docs/reference/property-feed.md), for the OpenAPI document and the
 * import. The deployed Worker imports only their types.
 */

import * as z from 'zod';
import { makeFollowedList } from '../../openapi/list-resource.ts';
import { withMetadata } from '../../schema/metadata.ts';
import { lowerCaseUuid } from '../../schema/uuid.ts';
import { LOCALES, mapLocales } from '../locale-map.ts';
import { slug } from '../slug.ts';
import { CARD_FIELDS, propertyType, publicStatus } from '../statuses.ts';

/** Maximum length in Unicode code points, as in JSON Schema. It keeps most rows far below D1's 2 MB. */
export const MAX_TEXT_CHARACTERS = 100_000;
export const MAX_LIST_ENTRIES = 1_000;

/**
 * Text that the store keeps unchanged. SQLite's functions cut text at NUL, and UTF-8 cannot encode half
 * of a surrogate pair.
 */
export const text = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[^\0]*$/, 'must not contain NUL (U+0000)')
  .refine((value) => value.isWellFormed(), { error: 'must not contain half of a surrogate pair' });

/** An http or https URL. Sites use it in links, so other schemes, such as `javascript:`, are rejected. */
export const httpUrl = z
  .string()
  .max(MAX_TEXT_CHARACTERS)
  .regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\0]*$/, {
    error: 'must be an absolute http or https URL',
    abort: true,
  })
  .refine((value) => URL.canParse(value) && value.isWellFormed(), {
    error: 'must be an absolute http or https URL',
  })
  .register(z.globalRegistry, { examples: ['https://www.example.com/casa-marea'] });

/** Makes the schema of an object with an optional value for each language. */
export function localized<S extends z.ZodType>(schema: S) {
  const value = schema.exactOptional();
  return z.strictObject({ en: value, es: value, fr: value });
}

/** Translations of a text. Parsing drops blank translations. */
export const localeMap = localized(text)
  .overwrite((map) => mapLocales(map, (value) => value))
  .register(z.globalRegistry, {
    id: 'LocaleMap',
    description:
      'A text by language. A language without text is absent, and the object may be empty.',
    examples: [{ en: 'Sea view', es: 'Vistas al mar', fr: 'Vue sur la mer' }],
  });

/** Schema of one value of the parameter `locale`. */
export const localeName = z
  .enum(LOCALES)
  .meta({ id: 'Locale', description: 'A language of the texts.' });

export const location = z.strictObject({
  id: lowerCaseUuid.meta({
    description: 'Identifies the location: a value for the filter `location_id`.',
  }),
  slug: withMetadata(
    slug.nullable(),
    'Public key of the location: a value for the filter `location`.',
    'sardinia',
  ),
  name: localeMap,
});

export const locationResource = z
  .strictObject({ object: z.literal('location'), ...location.shape })
  .meta({ id: 'LocationResource', description: 'A location that listings may have.' });

export const amenity = z
  .strictObject({
    slug: slug.meta({ description: 'Key of the amenity.', examples: ['wifi'] }),
    label: localeMap,
  })
  .meta({ id: 'Amenity', description: 'An amenity of a home.' });

const feature = z
  .strictObject({
    icon_slug: text.meta({ description: 'Names an icon of the site.', examples: ['sea-view'] }),
    label: localeMap,
  })
  .meta({ id: 'Feature', description: 'A feature that few other homes have.' });

const heroImage = z.strictObject({ url: httpUrl, alt: localeMap }).nullable().meta({
  id: 'HeroImage',
  description: 'The selected hero photo, otherwise the first photo of section hero.',
});

export const photoSection = z
  .enum(['hero', 'gallery', 'studio', 'location', 'what_to_do', 'other'])
  .meta({ id: 'PhotoSection', description: 'What a photo shows.' });

const galleryPhoto = z
  .strictObject({
    url: httpUrl,
    alt: localeMap,
    section: photoSection,
    sort_order: z.int32().meta({ description: 'Place in the gallery, ascending.', examples: [1] }),
  })
  .meta({ id: 'GalleryPhoto', description: 'A photo that is visible on the web.' });

const amount = z.number().min(0);
const count = z.int32().min(0);

/**
 * A listing as the feed sends it. Listings files and the store have the same fields, except for the
 * `RenderedField` names in source.ts.
 */
export const property = z
  .strictObject({
    object: z.literal('property'),
    id: lowerCaseUuid.meta({ description: 'Identifies the property.' }),
    hid: withMetadata(
      text.nullable(),
      'External home id; null when the property is not synchronised from upstream.',
      'H-1042',
    ),
    slug: slug.meta({ description: 'Stable public key.', examples: ['casa-marea'] }),
    name: withMetadata(text.min(1), 'Internal name, not localized.', 'Casa Marea'),
    status: publicStatus,
    title: localeMap.meta({ description: 'Localized web title.' }),
    type: propertyType.nullable().meta({ description: 'Type of the home.' }),
    description: localeMap.meta({
      description: 'Plain text in each language. Exactly one blank line separates paragraphs.',
    }),
    unique_features: withMetadata(
      z.array(feature).max(MAX_LIST_ENTRIES),
      'Features that few other homes have; may be empty.',
    ),
    bedrooms: withMetadata(count.nullable(), 'Number of bedrooms.', 3),
    beds: withMetadata(count.nullable(), 'Number of beds.', 4),
    bathrooms: withMetadata(
      amount.nullable(),
      'Number of bathrooms; a half bathroom counts 0.5.',
      2,
    ),
    bathtubs: withMetadata(count.nullable(), 'Number of bathtubs.', 1),
    capacity: withMetadata(count.nullable(), 'Number of people who can stay.', 6),
    size: withMetadata(amount.nullable(), 'Square metres.', 104),
    address: withMetadata(text.nullable(), 'Street and number.', 'Via delle Concerie 27'),
    city: withMetadata(text.nullable(), 'Town.', 'Bosa'),
    latitude: withMetadata(z.number().min(-90).max(90).nullable(), 'Degrees, WGS 84.'),
    longitude: withMetadata(z.number().min(-180).max(180).nullable(), 'Degrees, WGS 84.'),
    price_from: withMetadata(amount.nullable(), 'Price of the smallest share.', 118000),
    fraction_from: withMetadata(
      z
        .string()
        .max(MAX_TEXT_CHARACTERS)
        .regex(/^[1-9]\d*\/[1-9]\d*$/, 'must be a fraction such as 1/8')
        .nullable(),
      'Smallest ownership fraction.',
      '1/8',
    ),
    weeks_per_year: withMetadata(
      amount.nullable(),
      'Weeks per year in which the owner of the share can use the home.',
      6,
    ),
    financial_analysis_url: httpUrl.nullable(),
    hero_image: heroImage,
    gallery: withMetadata(
      z.array(galleryPhoto).max(MAX_LIST_ENTRIES),
      'Every photo that is visible on the web, by `sort_order`.',
    ),
    video_url: withMetadata(httpUrl.nullable(), 'Main web video.'),
    location: location
      .nullable()
      .meta({ id: 'PropertyLocation', description: 'The location of the listing.' }),
    location_text: localeMap.meta({ description: 'Free-text blurb; `{}` when unset.' }),
    amenities: z.array(amenity).max(MAX_LIST_ENTRIES),
    url: httpUrl.meta({
      description: 'Canonical public address.',
      examples: ['https://www.example.com/listings/casa-marea'],
    }),
    display_order: z.int32().meta({ description: 'Curatorial order, ascending.', examples: [210] }),
    is_early_access: z.boolean(),
  })
  .meta({
    id: 'Property',
    description:
      'A listing of the marketing site. A text has up to 100,000 characters without NUL, and a list up to 1,000 entries. The schemas do not repeat these bounds, because usual values are far smaller.',
  });

/** The fields of a listing that an overview page shows. */
export const propertyCard = z
  .strictObject({
    object: z.literal('property_card'),
    ...property.pick(CARD_FIELDS).shape,
  })
  .meta({ id: 'PropertyCard', description: 'The fields of a listing for an overview page.' });

const propertyChange = z
  .strictObject({
    object: z.literal('property_change'),
    id: lowerCaseUuid.meta({ description: 'Identifies the property.' }),
    slug: slug.meta({
      description: 'The slug of the property. For a removed property, its last public slug.',
      examples: ['casa-marea'],
    }),
    former_slugs: withMetadata(
      z.array(slug).max(20),
      'The slugs under which the property was public before, newest first, for redirects. A slug that another property has now is left out.',
    ),
    change: z.enum(['published', 'removed']).meta({
      id: 'ChangeType',
      description:
        '`published`: the property is public, and is new or has changed. `removed`: the property is hidden now.',
    }),
    changed_at: withMetadata(
      z.iso.datetime().max(30),
      'When an import made the change. The list is not ordered by this time.',
      '2027-01-15T09:30:00.000Z',
    ),
    property: property
      .nullable()
      .meta({ description: 'The property as it is now; null when it was removed.' }),
  })
  .meta({ id: 'PropertyChange', description: 'The latest change of a listing.' });

export const changeList = makeFollowedList(propertyChange, 'after').meta({
  id: 'PropertyChangeList',
  description: 'A page of changes.',
});

export type Property = z.infer<typeof property>;
export type PropertyCard = z.infer<typeof propertyCard>;
