/** Renders a stored listing as its wire resource, by the rules of docs/reference/property-feed.md. */

import { mapLocales } from './locale-map.ts';
import type { Property, PropertyCard } from './openapi/property.ts';
import { toPlainText } from './rich-text.ts';
import type { Source } from './source.ts';
import { CARD_FIELDS } from './statuses.ts';

/**
 * Version of the rendering rules. A new version makes every stored document outdated, so that reads
 * render it again. test/properties/rules.test.ts fails if the rules change without a new version.
 */
export const RULES_VERSION = 4;

/** @example formatRendering('https://www.example.com') // '4 https://www.example.com' */
export function formatRendering(publicSiteUrl: string): string {
  return `${RULES_VERSION} ${publicSiteUrl}`;
}

/**
 * Renders a listing as its wire resource, with the fields in wire order. Returns null for a hidden
 * listing. `publicSiteUrl` must not end with a slash.
 */
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
    description: mapLocales(source.description, toPlainText),
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
    hero_image: findHeroImage(source),
    gallery: makeGallery(source),
    video_url: findVideoUrl(source),
    location: source.location,
    location_text: source.location_text,
    amenities: source.amenities,
    url: `${publicSiteUrl}/listings/${source.slug}`,
    display_order: source.display_order,
    is_early_access: source.is_early_access,
  };
}

export function toCard(listing: Property): PropertyCard {
  const entries = Object.entries(listing).filter(([name]) => name in CARD_FIELDS);
  return { object: 'property_card', ...Object.fromEntries(entries) } as PropertyCard;
}

type Photo = Source['photos'][number];

function findHeroImage(source: Source): Property['hero_image'] {
  const selected = source.photos.find((photo) => photo.id === source.hero_photo_id);
  const hero = selected ?? listWebPhotos(source).find((photo) => photo.section === 'hero');
  return hero === undefined ? null : { url: hero.url, alt: hero.alt };
}

function makeGallery(source: Source): Property['gallery'] {
  return listWebPhotos(source).map(({ url, alt, section, web_sort_order }) => ({
    url,
    alt,
    section,
    sort_order: web_sort_order,
  }));
}

function findVideoUrl(source: Source): string | null {
  const videos = source.videos
    .filter((video) => video.web_visible)
    .sort((a, b) => a.sort_order - b.sort_order || byId(a, b));
  const main = videos.find((video) => video.type === 'hero') ?? videos[0];
  return main?.url ?? null;
}

function listWebPhotos(source: Source): Photo[] {
  return source.photos
    .filter((photo) => photo.web_visible)
    .sort((a, b) => a.web_sort_order - b.web_sort_order || byId(a, b));
}

/** Compares the ids of two photos or videos that have the same sort order, so that their order never changes. */
function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}
