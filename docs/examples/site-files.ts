/**
 * Writes `site/sitemap.xml` and `site/_redirects`. Cloudflare Pages and Netlify read the redirects,
 * and serve `casa-marea.html` at `/casa-marea`.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { isFileOfHost, listLanguages, makeAddress, REDIRECTS } from './addresses.ts';
import { callForJson } from './call.ts';
import { LANGUAGES, type Language, type Text } from './translations.ts';

type Change = {
  id: string;
  slug: string;
  former_slugs: string[];
  changed_at: string;
  property: { title: Text; description: Text } | null;
};
type Page = { data: Change[]; has_more: boolean; resume_cursor: string };

const listings = new Map<string, Change>();
for (let after = '', hasMore = true; hasMore; ) {
  const page: Page = await callForJson(`/api/v1/web/property-changes?limit=100${after}`);
  for (const change of page.data) {
    if (change.property && !isFileOfHost(change.slug)) listings.set(change.id, change);
    else listings.delete(change.id);
  }
  after = `&after=${page.resume_cursor}`;
  hasMore = page.has_more;
}

/** Returns a page's sitemap entries, one for each of its languages. */
function makeEntries(path: string, languages: readonly Language[], lastmod: string): string[] {
  const links = [...languages, 'x-default' as const].map((language) => {
    const href = makeAddress(path, language, languages);
    return `<xhtml:link rel="alternate" hreflang="${language}" href="${href}"/>`;
  });
  return languages.map((language) => {
    const loc = makeAddress(path, language, languages);
    return `<url><loc>${loc}</loc><lastmod>${lastmod}</lastmod>${links.join('')}</url>\n`;
  });
}

const redirects: string[] = [];
let latest = '';
const pages: string[] = [];
for (const { slug, former_slugs, changed_at, property } of listings.values()) {
  const path = `/listings/${slug}`;
  if (changed_at > latest) latest = changed_at;
  if (property) pages.push(...makeEntries(path, listLanguages(property), changed_at));
  for (const previousSlug of former_slugs) {
    redirects.push(`/listings/${previousSlug} /${LANGUAGES[0]}${path} 301\n`);
    for (const language of LANGUAGES) {
      redirects.push(`/${language}/listings/${previousSlug} /${language}${path} 301\n`);
    }
  }
}
const urls = latest ? [...makeEntries('/', LANGUAGES, latest), ...pages] : [];
mkdirSync('site', { recursive: true });
writeFileSync(
  'site/sitemap.xml',
  `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">
${urls.join('')}</urlset>
`,
);
// The host uses the first redirect that matches.
writeFileSync('site/_redirects', redirects.join('') + REDIRECTS);
console.log(`${urls.length} addresses in site/sitemap.xml, ${redirects.length} in site/_redirects`);
