/** What an address of the preview chooses: the language, the filters and the page of the catalogue. */

import * as z from 'zod';
import { LANGUAGE_CODES, type Listing, missingOf, PART_NAMES } from './catalogue.ts';

/** An empty text filters nothing. */
const filter = z.string().trim().default('');

/** The query of an address. */
export const view = z.object({
  lang: z.enum(LANGUAGE_CODES).catch('en'),
  status: filter,
  type: filter,
  /** The id of a location. */
  location: filter,
  find: filter,
  missing: z.enum(['', ...PART_NAMES]).catch(''),
  page: z.coerce.number().int().positive().catch(1),
});

export type View = z.infer<typeof view>;

/** Returns the address of the catalogue, or of another path, that chooses a view. */
export function addressOf(view: View, path = '/preview'): string {
  const query = Object.entries(view).filter(([, value]) => value !== '' && value !== 1);
  return `${path}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`;
}

/** Reports whether the view shows a listing. */
export function isShown(listing: Listing, view: View): boolean {
  const { status, type, location, find, missing } = view;
  if (status && listing.status !== status) return false;
  if (type && listing.type !== type) return false;
  if (location && listing.location?.id !== location) return false;
  if (missing && !missingOf(listing).includes(missing)) return false;
  const { name, slug, hid, city, title } = listing;
  const texts = [name, slug, hid ?? '', city ?? '', ...Object.values(title)];
  return texts.some((text) => plain(text).includes(plain(find)));
}

/** Drops case and accents: Deià is found by deia. */
function plain(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
