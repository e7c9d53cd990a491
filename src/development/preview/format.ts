/** How the preview writes the facts of a listing. */

import type { Listing, Part } from '../../properties/missing.ts';
import { textIn } from './catalogue.ts';
import type { View } from './view.ts';
import { WORDS } from './words.ts';

type Nouns = {
  [Name in keyof typeof WORDS]: (typeof WORDS)[Name] extends readonly string[] ? Name : never;
}[keyof typeof WORDS];

/** Writes where a listing is: Deià, Mallorca. */
export function formatPlace({ city, location }: Listing, { lang }: View): string {
  const name = location && (textIn(location.name, lang)?.text ?? location.slug);
  return joined([...new Set([city, name])], ', ');
}

/** Writes the size of a listing: Beach · 3 bedrooms · 6 guests. */
export function formatSize(listing: Listing): string {
  const { type, bedrooms, bathrooms, capacity, size } = listing;
  return joined([
    type && WORDS.types[type],
    formatCount(bedrooms, 'bedrooms'),
    formatCount(bathrooms, 'bathrooms'),
    formatCount(capacity, 'guests'),
    size !== null && `${size.toLocaleString('en')} m²`,
  ]);
}

/** Writes the price: from 118,000 · share 1/8. The feed names no currency. */
export function formatPrice({ price_from, fraction_from }: Listing): string {
  const { from, share } = WORDS;
  const price = price_from !== null && `${from} ${price_from.toLocaleString('en')}`;
  return joined([price, fraction_from !== null && `${share} ${fraction_from}`]);
}

/** Writes what is missing: No title in French. */
export function formatPart({ kind, language }: Part): string {
  const { without, inLanguage } = WORDS;
  return joined([without[kind], language !== undefined && inLanguage[language]], ' ');
}

/** Joins the texts that are there. */
export function joined(texts: readonly (string | null | false)[], separator = ' · '): string {
  return texts.filter(Boolean).join(separator);
}

/** Writes a number and its noun: 1 listing, 1,200 listings. No number, no text. */
export function formatCount(value: number | null, noun: Nouns): string {
  if (value === null) return '';
  const [one, several] = WORDS[noun];
  return `${value.toLocaleString('en')} ${value === 1 ? one : several}`;
}
