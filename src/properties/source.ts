/**
 * The stored form of a listing, from which its wire resource is rendered. The import has validated it
 * (tools/import/catalogue/listing-schemas.ts), so the service does not validate it again.
 */

import type { LocaleMap, Localized } from './locale-map.ts';
import type { Property } from './openapi/property.ts';
import type { RichText } from './rich-text.ts';

type PhotoSection = Property['gallery'][number]['section'];

type Photo = {
  id: string;
  url: string;
  alt: LocaleMap;
  section: PhotoSection;
  web_visible: boolean;
  web_sort_order: number;
};

type Video = { id: string; url: string; type: string; web_visible: boolean; sort_order: number };

/** A field of the wire resource that `render` computes instead of copying. */
type RenderedField =
  | 'object'
  | 'status'
  | 'description'
  | 'hero_image'
  | 'gallery'
  | 'video_url'
  | 'url';

export type Source = Omit<Property, RenderedField> & {
  status: Property['status'] | 'hidden';
  description: Localized<RichText>;
  hero_photo_id: string | null;
  photos: Photo[];
  videos: Video[];
};

export type Location = NonNullable<Property['location']>;
export type Amenity = Property['amenities'][number];
