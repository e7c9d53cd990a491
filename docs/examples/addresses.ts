/** The name and the addresses of a site, for build-site.ts and site-files.ts. */

import { LANGUAGES, type Language, type Text } from './translations.ts';

/** `SITE_URL` is the origin of the site: the service's `PUBLIC_SITE_URL`. */
export const { SITE_URL = 'http://localhost:3000', SITE_NAME = 'Shared homes' } = process.env;

/** Returns the languages in which a listing has text; the first language if it has only its name. */
export function listLanguages({ title, description }: { title: Text; description: Text }) {
  const languages = LANGUAGES.filter((language) => title[language] || description[language]);
  return languages.length > 0 ? languages : [LANGUAGES[0]];
}

/** Returns the visitor's language if a page has text in it, otherwise the page's first language. */
export const chooseLanguage = (wantedLanguage: string, languages: readonly Language[]) =>
  languages.find((language) => language === wantedLanguage) ?? languages[0] ?? LANGUAGES[0];

/** Returns the address of a page in a language. */
export const makeAddress = (path: string, language: string, languages: readonly Language[]) =>
  `${SITE_URL}/${chooseLanguage(language, languages)}${path}`;

/** Redirects for the addresses in the feed, where the `url` of a listing has no language. */
export const REDIRECTS = `/ /${LANGUAGES[0]}/ 302\n/listings/* /${LANGUAGES[0]}/listings/:splat 302\n`;

/** Whether a slug has no page, because hosts serve the file of this name at another address. */
export const isFileOfHost = (slug: string) => ['index', '404'].includes(slug);
