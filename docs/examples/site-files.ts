/**
 * Writes `site/sitemap.xml`, and `site/_redirects` for Cloudflare Pages and Netlify. `SITE_URL` is
 * the site's origin.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { callForJson } from './call.ts';

type Change = {
  id: string;
  slug: string;
  former_slugs: string[];
  change: string;
  changed_at: string;
};
type Page = { data: Change[]; has_more: boolean; resume_cursor: string };

const { SITE_URL = 'http://localhost:3000' } = process.env;
const listings = new Map<string, Change>();

for (let after = '', hasMore = true; hasMore; ) {
  const page: Page = await callForJson(`/api/v1/web/property-changes?limit=100${after}`);
  for (const change of page.data) {
    if (change.change === 'published') listings.set(change.id, change);
    else listings.delete(change.id);
  }
  after = `&after=${page.resume_cursor}`;
  hasMore = page.has_more;
}

const urls: string[] = [];
const redirects: string[] = [];
for (const { slug, former_slugs, changed_at } of listings.values()) {
  for (const language of ['en', 'es', 'fr']) {
    const path = `/${language}/${slug}.html`;
    urls.push(`<url><loc>${SITE_URL}${path}</loc><lastmod>${changed_at}</lastmod></url>\n`);
    for (const former of former_slugs) redirects.push(`/${language}/${former}.html ${path} 301\n`);
  }
}
mkdirSync('site', { recursive: true });
writeFileSync(
  'site/sitemap.xml',
  `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join('')}</urlset>
`,
);
writeFileSync('site/_redirects', redirects.join(''));
console.log(`${urls.length} addresses in site/sitemap.xml, ${redirects.length} in site/_redirects`);
