/**
 * A listing as it is stored: everything that its wire resource is rendered from. A listings file names a location and
 * amenities; a `Source` contains them.
 */

import * as z from 'zod';
import { uuid } from '../http/uuid.ts';
import { localeMap, localized } from './locale-map.ts';
import { amenity, location, PHOTO_SECTIONS, PUBLIC_STATUSES, property } from './resource.ts';
import { richText } from './rich-text.ts';
import { httpUrl, MAX_LIST_ENTRIES, order, text } from './text.ts';

/** A stored photo, shown on the web or not. */
export const photo = z.strictObject({
  id: uuid,
  url: httpUrl,
  alt: localeMap.default({}),
  section: z.enum(PHOTO_SECTIONS),
  web_visible: z.boolean(),
  web_sort_order: order,
});

/** A stored video. */
export const video = z.strictObject({
  id: uuid,
  url: httpUrl,
  type: text,
  web_visible: z.boolean(),
  sort_order: order,
});

/** The fields of the resource, without the fields that `render` makes, and without location and amenities. */
const { location_text, display_order, is_early_access, ...first } = property.omit({
  object: true,
  hero_image: true,
  gallery: true,
  video_url: true,
  location: true,
  amenities: true,
  url: true,
}).shape;

/**
 * The fields of a listing that a listings file and the store have in common. Do not change their order: an import
 * compares stored sources as texts.
 */
export const ownFields = withDefaults({
  ...first,
  id: uuid,
  status: z.enum([...PUBLIC_STATUSES, 'hidden']),
  description: localized(richText),
  hero_photo_id: uuid.nullable(),
  photos: z.array(photo).max(MAX_LIST_ENTRIES),
  videos: z.array(video).max(MAX_LIST_ENTRIES),
  location_text,
  display_order,
  is_early_access,
});

/** A stored listing. */
export const source = z.strictObject({
  ...ownFields,
  location: location.nullable(),
  amenities: z.array(amenity),
});

export type Source = z.infer<typeof source>;
export type Location = z.infer<typeof location>;
export type Amenity = z.infer<typeof amenity>;

/** Texts and numbers are required; any other field has a default. */
type WithDefaults<Shape extends Record<string, z.ZodType>> = {
  [Name in keyof Shape]: z.output<Shape[Name]> extends string | number
    ? Shape[Name]
    : z.ZodDefault<Shape[Name]>;
};

/** Gives each field the first of null, {}, [] and false that it accepts as its default. */
function withDefaults<Shape extends Record<string, z.ZodType>>(shape: Shape): WithDefaults<Shape> {
  const fields = Object.entries(shape).map(([name, schema]) => {
    const empty = [null, {}, [], false].find((value) => schema.safeParse(value).success);
    return [name, empty === undefined ? schema : schema.default(empty)];
  });
  // Object.fromEntries forgets which name has which schema.
  return Object.fromEntries(fields) as WithDefaults<Shape>;
}
