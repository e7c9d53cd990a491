/** The field rules: how a stored listing becomes its wire resource (docs/reference/property-feed.md). Pure. */

import * as z from 'zod';
import { mapLocales } from './locale-map.ts';
import { type Property, type PropertyCard, property, propertyCard } from './resource.ts';
import { plainTextOf } from './rich-text.ts';
import type { Source } from './source.ts';

/**
 * The version of the rules, and a digest of the documents that they make of the listings in
 * test/properties/rules.test.ts. A change of the rules needs a new version, which makes every stored document out of
 * date. Until then that test fails, and prints the line to write here.
 */
export const RULES = { version: 3, digest: '9991b2f9bc2870e6' };

/** Spread at the head of an object, it puts the object's fields into the order of the wire. */
const WIRE_ORDER: object = Object.fromEntries(
  Object.keys(property.shape).map((name) => [name, undefined]),
);

/** Names the rules and the site that a document is rendered for. */
export function renderingOf(publicSiteUrl: string): string {
  return `${RULES.version} ${publicSiteUrl}`;
}

/** Returns the wire resource of a listing, or null for a hidden one. `publicSiteUrl` has no trailing slash. */
export function render(source: Source, publicSiteUrl: string): Property | null {
  if (source.status === 'hidden') return null;
  const { hero_photo_id, photos, videos, ...copied } = source;
  return {
    ...WIRE_ORDER,
    ...copied,
    object: 'property',
    status: source.status,
    description: mapLocales(source.description, plainTextOf),
    hero_image: heroImageOf(source),
    gallery: galleryOf(source),
    video_url: videoUrlOf(source),
    url: `${publicSiteUrl}/listings/${source.slug}`,
  };
}

/** Drops the fields that a card does not have. */
const card = z.object(propertyCard.shape);

/** Returns the card of a listing. */
export function cardOf(listing: Property): PropertyCard {
  return card.parse({ ...listing, object: 'property_card' });
}

type Photo = Source['photos'][number];

/** Returns the photo selected as hero, else the first web-visible one of section hero, else null. */
function heroImageOf(source: Source): Property['hero_image'] {
  const selected = source.photos.find((photo) => photo.id === source.hero_photo_id);
  const hero = selected ?? webPhotosOf(source).find((photo) => photo.section === 'hero');
  return hero === undefined ? null : { url: hero.url, alt: hero.alt };
}

/** Returns every web-visible photo, in order. */
function galleryOf(source: Source): Property['gallery'] {
  return webPhotosOf(source).map(({ url, alt, section, web_sort_order }) => ({
    url,
    alt,
    section,
    sort_order: web_sort_order,
  }));
}

/** Returns the first web-visible video of type hero, else the first web-visible one, else null. */
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

/** Breaks ties by id, so that equal listings are rendered alike. */
function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}
