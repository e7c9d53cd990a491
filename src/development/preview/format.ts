/** How the preview writes the facts of a listing. */

import { type Listing, textIn } from './catalogue.ts';
import type { View } from './view.ts';

export const STATUSES = {
  listed: 'Listed',
  coming_soon: 'Coming soon',
  sold_out: 'Sold out',
  hidden: 'Hidden',
};
export const TYPES = { beach: 'Beach', ski: 'Ski' };

/** Writes where a listing is: Deià, Mallorca. */
export function formatPlace({ city, location }: Listing, { lang }: View): string {
  const name = location && (textIn(location.name, lang)?.text ?? location.slug);
  return joined([...new Set([city, name])], ', ');
}

/** Writes the size of a listing: Beach · 3 bedrooms · 6 guests. */
export function formatSize({ type, bedrooms, bathrooms, capacity, size }: Listing): string {
  return joined([
    type && TYPES[type],
    counted(bedrooms, 'bedroom'),
    counted(bathrooms, 'bathroom'),
    counted(capacity, 'guest'),
    size !== null && `${size.toLocaleString('en')} m²`,
  ]);
}

/** Writes the price: from 118,000 · share 1/8. The feed names no currency. */
export function formatPrice({ price_from, fraction_from }: Listing): string {
  const price = price_from !== null && `from ${price_from.toLocaleString('en')}`;
  return joined([price, fraction_from !== null && `share ${fraction_from}`]);
}

/** Joins the texts that are there. */
export function joined(texts: readonly (string | null | false)[], separator = ' · '): string {
  return texts.filter(Boolean).join(separator);
}

/** Writes a number and its noun: 1 listing, 1,200 listings. No number, no text. */
export function counted(value: number | null, noun: string): string {
  return value === null ? '' : `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`;
}
