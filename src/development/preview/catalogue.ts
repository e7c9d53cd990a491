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

/** A property, or a hidden listing in the form of a property. */
export type Listing = Omit<Property, 'status'> & { status: Source['status'] };

type Language = keyof LocaleMap;

export const LANGUAGES: Record<Language, string> = { en: 'English', es: 'Spanish', fr: 'French' };

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

/** What a listing may lack. */
const PARTS: Record<string, (listing: Listing) => boolean> = {
  photo: (listing) => orderPhotos(listing).length === 0,
  // A listing without any photo lacks a photo, and not a cover as well.
  'cover photo': (listing) => orderPhotos(listing).length > 0 && listing.hero_image === null,
  ...inEachLanguage('title', ({ title }) => [title]),
  ...inEachLanguage('description', ({ description }) => [description]),
  ...inEachLanguage('alt text', (listing) => orderPhotos(listing).map(({ alt }) => alt)),
  location: ({ location }) => location === null,
  price: ({ price_from }) => price_from === null,
};

/** The names of the parts that a listing may lack: photo, French title. */
export const PART_NAMES = Object.keys(PARTS);

export function findMissing(listing: Listing): string[] {
  return PART_NAMES.filter((name) => PARTS[name]?.(listing));
}

function inEachLanguage(name: string, select: (listing: Listing) => LocaleMap[]): typeof PARTS {
  const parts = LOCALES.map((code) => {
    const isMissing = (listing: Listing) => select(listing).some((map) => map[code] === undefined);
    return [`${LANGUAGES[code]} ${name}`, isMissing] as const;
  });
  return Object.fromEntries(parts);
}
