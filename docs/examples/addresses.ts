/** The name and the addresses of a site, for build-site.ts and site-files.ts. */

import { LANGUAGES, type Language, type Text } from './words.ts';

/** `SITE_URL` is the origin of the site: the service's `PUBLIC_SITE_URL`. */
export const { SITE_URL = 'http://localhost:3000', SITE_NAME = 'Shared homes' } = process.env;

/** The languages in which a home has a text; the first of all if it has only its name. */
export function languagesOf({ title, description }: { title: Text; description: Text }) {
  const found = LANGUAGES.filter((language) => title[language] || description[language]);
  return found.length > 0 ? found : [LANGUAGES[0]];
}

/** The language of a path's text: its first one where the path has none in the visitor's. */
export const languageOf = (own: string, languages: readonly Language[]) =>
  languages.find((each) => each === own) ?? languages[0] ?? LANGUAGES[0];

/** The address of a path in a language. */
export const addressOf = (path: string, own: string, languages: readonly Language[]) =>
  `${SITE_URL}/${languageOf(own, languages)}${path}`;

/** A listing's `url` in the feed names no language. */
export const REDIRECTS = `/ /${LANGUAGES[0]}/ 302\n/listings/* /${LANGUAGES[0]}/listings/:splat 302\n`;

/** Hosts serve these files under other addresses, so no home can have a page of this slug. */
export const isFileOfHost = (slug: string) => ['index', '404'].includes(slug);
