/** How the preview writes the facts of a listing, in the language of the view. */

import { textIn } from './catalogue.ts';
import type { Listing, Part } from './missing.ts';
import type { View } from './view.ts';
import { WORDS, type Words } from './words.ts';

type Nouns = {
  [Name in keyof Words]: Words[Name] extends readonly string[] ? Name : never;
}[keyof Words];

/** Writes where a listing is: Deià, Mallorca. */
export function formatPlace({ city, location }: Listing, { lang }: View): string {
  const name = location && (textIn(location.name, lang)?.text ?? location.slug);
  return joined([...new Set([city, name])], ', ');
}

/** Writes the size of a listing: Beach · 3 bedrooms · 6 guests. */
export function formatSize(listing: Listing, view: View): string {
  const { type, bedrooms, bathrooms, capacity, size } = listing;
  return joined([
    type && WORDS[view.lang].types[type],
    counted(bedrooms, 'bedrooms', view),
    counted(bathrooms, 'bathrooms', view),
    counted(capacity, 'guests', view),
    size !== null && `${size.toLocaleString(view.lang)} m²`,
  ]);
}

/** Writes the price: from 118,000 · share 1/8. The feed names no currency. */
export function formatPrice({ price_from, fraction_from }: Listing, { lang }: View): string {
  const { from, share } = WORDS[lang];
  const price = price_from !== null && `${from} ${price_from.toLocaleString(lang)}`;
  return joined([price, fraction_from !== null && `${share} ${fraction_from}`]);
}

/** Writes what is missing: No title in French. */
export function formatPart({ kind, language }: Part, { lang }: View): string {
  const { without, inLanguage } = WORDS[lang];
  return joined([without[kind], language !== undefined && inLanguage[language]], ' ');
}

/** Joins the texts that are there. */
export function joined(texts: readonly (string | null | false)[], separator = ' · '): string {
  return texts.filter(Boolean).join(separator);
}

/** Writes a number and its noun: 1 listing, 1,200 listings. No number, no text. */
export function counted(value: number | null, noun: Nouns, { lang }: View): string {
  if (value === null) return '';
  const [one, several] = WORDS[lang][noun];
  return `${value.toLocaleString(lang)} ${value === 1 ? one : several}`;
}
