/** Reads and writes the language, filters and page number in a URL of the preview. */

import * as z from 'zod';
import { LOCALES } from '../../properties/locale-map.ts';
import { PARTS } from './missing.ts';

/** The schema of a filter. An empty string selects all listings. */
const filter = z.string().trim().default('');

/** The query parameters of a preview URL. */
export const view = z.object({
  lang: z.enum(LOCALES).catch('en'),
  status: filter,
  type: filter,
  /** The id of the selected location. */
  location: filter,
  find: filter,
  /** The id of the selected missing part. */
  missing: z.enum(['', ...PARTS.map(({ id }) => id)]).catch(''),
  page: z.coerce.number().int().positive().catch(1),
});

export type View = z.infer<typeof view>;

/** Returns the URL of the catalogue, or of another page, with the query of a view. */
export function formatAddress(view: View, path = '/preview'): string {
  const query = Object.entries(view).filter(([, value]) => value !== '' && value !== 1);
  return `${path}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`;
}
