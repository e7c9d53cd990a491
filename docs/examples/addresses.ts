/** The languages and addresses of a site, for build-site.ts and site-files.ts. */

/** The origin of the site: the service's `PUBLIC_SITE_URL`. */
const { SITE_URL = 'http://localhost:3000' } = process.env;

/** A text that a language lacks is shown in the first of these that has it. */
export const LANGUAGES = ['en', 'es', 'fr'] as const;
export type Language = (typeof LANGUAGES)[number];
export type Text = Partial<Record<Language, string>>;

/** The languages in which a home has a text; the first of all if it has only its name. */
export function languagesOf({ title, description }: { title: Text; description: Text }) {
  const found = LANGUAGES.filter((language) => title[language] || description[language]);
  return found.length > 0 ? found : [LANGUAGES[0]];
}

/** The address of a path in a language. It is that of the first one where the path has no text. */
export function addressOf(path: string, own: string, languages: readonly Language[]): string {
  const language = languages.find((each) => each === own) ?? languages[0];
  return `${SITE_URL}/${language}${path}`;
}

/** A listing's `url` in the feed names no language. */
export const REDIRECTS = `/ /${LANGUAGES[0]}/ 302\n/listings/* /${LANGUAGES[0]}/listings/:splat 302\n`;

/** Hosts serve these files under other addresses, so no home can have a page of this slug. */
export const isFileOfHost = (slug: string) => ['index', '404'].includes(slug);
