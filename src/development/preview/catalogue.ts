/** The listings that the preview shows, hidden ones included, and what each of them lacks. */

import { asc, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readConfig } from '../../config.ts';
import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import type { Property } from '../../properties/property.ts';
import { render } from '../../properties/render.ts';
import type { Source } from '../../properties/source.ts';
import { properties } from '../../properties/table.ts';
import { readD1 } from '../../storage/d1.ts';
import type { Language, Words } from './words.ts';

/** A property, or a hidden listing in the form of a property. */
export type Listing = Omit<Property, 'status'> & { status: Source['status'] };

/** Reads every listing in the order of the feed, or the one with a slug. */
export async function readListings(env: Env, slug?: string): Promise<Listing[]> {
  const { publicSiteUrl } = readConfig(env);
  const query = drizzle(env.DB)
    .select({ source: properties.source })
    .from(properties)
    .where(slug === undefined ? undefined : eq(properties.slug, slug))
    .orderBy(asc(properties.display_order), asc(properties.id));
  const rows = await readD1(() => query.all());
  return rows.flatMap((row) => {
    const source: Source = JSON.parse(row.source);
    // By the feed's own rules, a hidden listing as if it was listed.
    const rendered = render({ ...source, status: 'listed' }, publicSiteUrl);
    return rendered ? { ...rendered, status: source.status } : [];
  });
}

/** Returns the text in the language, else in another language; undefined if the map is empty. */
export function textIn(map: LocaleMap, chosen: Language) {
  const language = [chosen, ...LOCALES].find((code) => map[code] !== undefined);
  return language && { text: map[language] ?? '', language };
}

export type Photo = { url: string; alt: LocaleMap; section?: string };

/** Returns the visible photos, the hero first. The hero may be outside the gallery. */
export function orderPhotos({ gallery, hero_image }: Listing): Photo[] {
  if (hero_image === null) return gallery;
  const hero = gallery.find(({ url }) => url === hero_image.url) ?? hero_image;
  return [hero, ...gallery.filter((photo) => photo !== hero)];
}

/** A part that a listing may lack, in a language where it is a text. */
export type Part = {
  /** e.g. `photo`, `title.fr`: for addresses */
  id: string;
  kind: keyof Words['without'];
  language?: Language;
  isMissing: (listing: Listing) => boolean;
};

export const PARTS: readonly Part[] = [
  { id: 'photo', kind: 'photo', isMissing: (listing) => orderPhotos(listing).length === 0 },
  {
    id: 'cover',
    kind: 'cover photo',
    // A listing without any photo lacks a photo, and not a cover as well.
    isMissing: (listing) => orderPhotos(listing).length > 0 && listing.hero_image === null,
  },
  ...inEachLanguage('title', ({ title }) => [title]),
  ...inEachLanguage('description', ({ description }) => [description]),
  ...inEachLanguage('alt text', (listing) => orderPhotos(listing).map(({ alt }) => alt)),
  { id: 'location', kind: 'location', isMissing: ({ location }) => location === null },
  { id: 'price', kind: 'price', isMissing: ({ price_from }) => price_from === null },
];

export function findMissing(listing: Listing): readonly Part[] {
  return PARTS.filter(({ isMissing }) => isMissing(listing));
}

function inEachLanguage(kind: Part['kind'], select: (listing: Listing) => LocaleMap[]): Part[] {
  return LOCALES.map((language) => ({
    id: `${kind.split(' ')[0]}.${language}`,
    kind,
    language,
    isMissing: (listing) => select(listing).some((map) => map[language] === undefined),
  }));
}
