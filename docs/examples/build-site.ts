/**
 * Builds a static site in three languages, with a list page and one page per listing. The host must
 * serve `en/listings/casa-marea.html` at `/en/listings/casa-marea`. Each build replaces the folders
 * `site/en`, `site/es` and `site/fr`.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isFileOfHost, REDIRECTS } from './addresses.ts';
import { call } from './call.ts';
import type { Listing } from './listing-html.ts';
import { listingPage, listPage, notFoundPage } from './site-html.ts';
import { LANGUAGES } from './translations.ts';

type Page = { data: Listing[]; next_cursor: string | null };
type Cache = Record<string, { etag: string; page: Page }>;

const LIST = '/api/v1/web/properties?status=listed,coming_soon,sold_out&limit=100&fresh=true';
const CACHE = 'feed-cache.json';
const before: Cache = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, 'utf8')) : {};
const now: Cache = {};

/** Returns a page of the feed. After a 304, returns the cached page from the previous build. */
async function getPage(path: string): Promise<Page> {
  const cached = before[path];
  const response = await call(path, { headers: cached ? { 'If-None-Match': cached.etag } : {} });
  if (response.status === 304 && cached) {
    now[path] = cached;
    return cached.page;
  }
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  const page = (await response.json()) as Page;
  now[path] = { etag: response.headers.get('ETag') ?? '', page };
  return page;
}

async function getListings(): Promise<Listing[]> {
  const listings: Listing[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page = await getPage(`${LIST}${cursor && `&cursor=${cursor}`}`);
    listings.push(...page.data);
    cursor = page.next_cursor;
  }
  return listings;
}

const all = await getListings();
const listings = all.filter(({ slug }) => !isFileOfHost(slug));
// A sold-out listing keeps its page so that links still work, but it is not in the list.
const listedListings = listings.filter(({ status }) => status !== 'sold_out');
for (const language of LANGUAGES) {
  const folder = `site/${language}`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}/listings`, { recursive: true });
  writeFileSync(`${folder}/index.html`, listPage(listedListings, language));
  for (const listing of listings) {
    writeFileSync(
      `${folder}/listings/${listing.slug}.html`,
      listingPage(listing, listedListings, language),
    );
  }
}
copyFileSync(`${import.meta.dirname}/site.css`, 'site/site.css');
// Without a 404.html, Cloudflare Pages responds to an unknown path with a 200.
writeFileSync('site/404.html', notFoundPage());
writeFileSync('site/_redirects', REDIRECTS);
writeFileSync(CACHE, JSON.stringify(now));
for (const { slug } of all.filter((listing) => !listings.includes(listing))) {
  console.error(`no page for the slug "${slug}": the host has another use for ${slug}.html`);
}
console.log(`${listings.length} listings in ${LANGUAGES.length} languages: site/`);
