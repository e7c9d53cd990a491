/** Finds the parts that are missing in a listing, such as a photo or a translation. */

import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import type { Property } from '../../properties/openapi/property.ts';
import type { Source } from '../../properties/source.ts';

/** A property, or a hidden listing in the form of a property. */
export type Listing = Omit<Property, 'status'> & { status: Source['status'] };

export type Photo = { url: string; alt: LocaleMap; section?: string };

/** Returns the visible photos, the hero first. The hero may be outside the gallery. */
export function orderPhotos({ gallery, hero_image }: Listing): Photo[] {
  if (hero_image === null) return gallery;
  const hero = gallery.find(({ url }) => url === hero_image.url) ?? hero_image;
  return [hero, ...gallery.filter((photo) => photo !== hero)];
}

/** A part that may be missing in a listing. Parts with text are missing in one language. */
export type Part = {
  /** Name in addresses, e.g. `photo` or `title.fr`. */
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
    // If there is no photo at all, only the photo counts as missing.
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
