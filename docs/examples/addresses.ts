/** Defines a site's name and makes its URLs, for build-site.ts and site-files.ts. */

import { LANGUAGES, type Language, type Text } from './translations.ts';

/** `SITE_URL` is the origin of the site. Use the same value as the service's `PUBLIC_SITE_URL`. */
export const { SITE_URL = 'http://localhost:3000', SITE_NAME = 'Shared homes' } = process.env;

/**
 * Returns the languages in which a listing has a title or a description. Returns the first language
 * if it has neither.
 */
export function listLanguages({ title, description }: { title: Text; description: Text }) {
  const languages = LANGUAGES.filter((language) => title[language] || description[language]);
  return languages.length > 0 ? languages : [LANGUAGES[0]];
}

/**
 * Returns the visitor's language if the page is available in it, and otherwise the page's first
 * language.
 */
export const chooseLanguage = (wantedLanguage: string, languages: readonly Language[]) =>
  languages.find((language) => language === wantedLanguage) ?? languages[0] ?? LANGUAGES[0];

/**
 * Returns the URL of a page in the given language, or in the page's first language if it is not
 * translated.
 */
export const makeAddress = (path: string, language: string, languages: readonly Language[]) =>
  `${SITE_URL}/${chooseLanguage(language, languages)}${path}`;

/** Redirects for the URLs in the feed, which do not contain a language. */
export const REDIRECTS = `/ /${LANGUAGES[0]}/ 302\n/listings/* /${LANGUAGES[0]}/listings/:splat 302\n`;

/** Whether a slug cannot have a page, because hosts treat a file of this name specially. */
export const isFileOfHost = (slug: string) => ['index', '404'].includes(slug);
