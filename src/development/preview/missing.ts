/** Finds the parts that are missing in a listing, such as a photo or a translation. */

import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import type { Property } from '../../properties/openapi/property.ts';
import type { Source } from '../../properties/source.ts';

/** A listing in the form of the feed's property, but with any status, including hidden. */
export type Listing = Omit<Property, 'status'> & { status: Source['status'] };

export type Photo = { url: string; alt: LocaleMap; section?: string };

/** Returns the visible photos with the hero first, even if it is not part of the gallery. */
export function orderPhotos({ gallery, hero_image }: Listing): Photo[] {
  if (hero_image === null) return gallery;
  const hero = gallery.find(({ url }) => url === hero_image.url) ?? hero_image;
  return [hero, ...gallery.filter((photo) => photo !== hero)];
}

/**
 * A part that can be missing from a listing. A part with text can be missing in one language only.
 */
export type Part = {
  /** The part's name in a URL, such as `photo` or `title.fr`. */
  id: string;
  kind: 'photo' | 'cover photo' | 'title' | 'description' | 'alt text' | 'location' | 'price';
  language?: keyof LocaleMap;
  isMissing: (listing: Listing) => boolean;
};

export const PARTS: readonly Part[] = [
  { id: 'photo', kind: 'photo', isMissing: (listing) => orderPhotos(listing).length === 0 },
  {
    id: 'cover',
    kind: 'cover photo',
    // If a listing has no photo at all, only `photo` counts as missing.
    isMissing: (listing) => orderPhotos(listing).length > 0 && listing.hero_image === null,
  },
  ...forEachLanguage('title', ({ title }) => [title]),
  ...forEachLanguage('description', ({ description }) => [description]),
  ...forEachLanguage('alt text', (listing) => orderPhotos(listing).map(({ alt }) => alt)),
  { id: 'location', kind: 'location', isMissing: ({ location }) => location === null },
  { id: 'price', kind: 'price', isMissing: ({ price_from }) => price_from === null },
];

export function findMissing(listing: Listing): readonly Part[] {
  return PARTS.filter(({ isMissing }) => isMissing(listing));
}

function forEachLanguage(kind: Part['kind'], select: (listing: Listing) => LocaleMap[]): Part[] {
  return LOCALES.map((language) => ({
    id: `${kind.split(' ')[0]}.${language}`,
    kind,
    language,
    isMissing: (listing) => select(listing).some((map) => map[language] === undefined),
  }));
}
