/** The field rules: how a stored listing becomes its wire resource (specification: Field rules). Pure. */

import { mapLocales } from './locale-map.ts';
import type { Property } from './resource.ts';
import { plainTextOf } from './rich-text.ts';
import type { Source } from './source.ts';

/** Raise it with every change of what `render` returns: stored documents are then rendered anew. */
const RULES_VERSION = 1;

/** Names what a document depends on besides its source; equal names, equal documents. */
export function renderingOf(publicSiteUrl: string): string {
  return `${RULES_VERSION} ${publicSiteUrl}`;
}

/** The wire resource of a listing, or null for a hidden one. `publicSiteUrl` has no trailing slash. */
export function render(source: Source, publicSiteUrl: string): Property | null {
  if (source.status === 'hidden') return null;
  return {
    object: 'property',
    id: source.id,
    hid: source.hid,
    slug: source.slug,
    name: source.name,
    status: source.status,
    title: source.title,
    type: source.type,
    description: mapLocales(source.description, plainTextOf),
    unique_features: source.unique_features,
    bedrooms: source.bedrooms,
    beds: source.beds,
    bathrooms: source.bathrooms,
    bathtubs: source.bathtubs,
    capacity: source.capacity,
    size: source.size,
    address: source.address,
    city: source.city,
    latitude: source.latitude,
    longitude: source.longitude,
    price_from: source.price_from,
    fraction_from: source.fraction_from,
    weeks_per_year: source.weeks_per_year,
    financial_analysis_url: source.financial_analysis_url,
    hero_image: heroImageOf(source),
    gallery: galleryOf(source),
    video_url: videoUrlOf(source),
    location: source.location,
    location_text: source.location_text,
    amenities: source.amenities,
    url: `${publicSiteUrl}/listings/${source.slug}`,
    display_order: source.display_order,
    is_early_access: source.is_early_access,
  };
}

type Photo = Source['photos'][number];

/** The photo selected as hero, as selected; else the first web-visible one of section hero; else null. */
function heroImageOf(source: Source): Property['hero_image'] {
  const selected = source.photos.find((photo) => photo.id === source.hero_photo_id);
  const hero = selected ?? webPhotosOf(source).find((photo) => photo.section === 'hero');
  return hero === undefined ? null : { url: hero.url, alt: hero.alt };
}

/** Every web-visible photo, by its order. */
function galleryOf(source: Source): Property['gallery'] {
  return webPhotosOf(source).map(({ url, alt, section, web_sort_order }) => ({
    url,
    alt,
    section,
    sort_order: web_sort_order,
  }));
}

/** Of the web-visible videos the one of type hero, else the first in order; else null. */
function videoUrlOf(source: Source): string | null {
  const videos = source.videos
    .filter((video) => video.web_visible)
    .sort((a, b) => a.sort_order - b.sort_order || byId(a, b));
  const main = videos.find((video) => video.type === 'hero') ?? videos[0];
  return main?.url ?? null;
}

function webPhotosOf(source: Source): Photo[] {
  return source.photos
    .filter((photo) => photo.web_visible)
    .sort((a, b) => a.web_sort_order - b.web_sort_order || byId(a, b));
}

/** Ties in any order are broken by id. */
function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}
