/**
 * Builds a list page and a page for each listing, in three languages. The folders `site/en`,
 * `site/es` and `site/fr` have only what the latest build wrote.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { call } from './call.ts';

const LANGUAGES = ['en', 'es', 'fr'] as const;
type Language = (typeof LANGUAGES)[number];
type Text = Partial<Record<Language, string>>;
type Listing = {
  slug: string;
  name: string;
  status: 'listed' | 'coming_soon' | 'sold_out';
  title: Text;
  description: Text;
  hero_image: { url: string; alt: Text } | null;
  location: { name: Text } | null;
  price_from: number | null;
};
type Page = { data: Listing[]; next_cursor: string | null };
type Cache = Record<string, { etag: string; page: Page }>;

const LIST = '/api/v1/web/properties?status=listed,coming_soon,sold_out&limit=100&fresh=true';
const CACHE = 'feed-cache.json';
const SOON = { en: 'Coming soon', es: 'Próximamente', fr: 'Bientôt' };
const before: Cache = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, 'utf8')) : {};
const now: Cache = {};

/** A page of the feed: the page of the last build if a 304 says that it has not changed. */
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

/** The language to show: the visitor's, or else the first one that has the text. */
const languageOf = (text: Text, wanted: Language) =>
  [wanted, ...LANGUAGES].find((language) => text[language] !== undefined) ?? wanted;
const plain = (text: Text, wanted: Language) => text[languageOf(text, wanted)] ?? '';
const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The text in an element that names its language. */
function element(tag: string, text: Text, wanted: Language): string {
  const lines = escaped(plain(text, wanted)).replaceAll('\n', '<br>');
  return lines && `<${tag} lang="${languageOf(text, wanted)}">${lines}</${tag}>`;
}

function card(listing: Listing, language: Language): string {
  const { hero_image: image, location, price_from: price, status } = listing;
  return `<a href="${listing.slug}.html">
    ${image ? `<img src="${escaped(image.url)}" alt="${escaped(plain(image.alt, language))}">` : ''}
    ${element('h2', listing.title, language) || `<h2>${escaped(listing.name)}</h2>`}
    ${location ? element('p', location.name, language) : ''}
    <p>${status === 'coming_soon' ? SOON[language] : (price?.toLocaleString(language) ?? '')}</p>
  </a>`;
}

// A link to a home that is sold out keeps working, but the list leaves it out.
const listings = await getListings();
const shown = listings.filter(({ status }) => status !== 'sold_out');
for (const language of LANGUAGES) {
  rmSync(`site/${language}`, { recursive: true, force: true });
  mkdirSync(`site/${language}`, { recursive: true });
  const write = (name: string, body: string) =>
    writeFileSync(
      `site/${language}/${name}.html`,
      `<!doctype html><html lang="${language}">${body}`,
    );
  write('index', shown.map((listing) => card(listing, language)).join('\n'));
  for (const listing of listings) {
    write(listing.slug, card(listing, language) + element('div', listing.description, language));
  }
}
writeFileSync(CACHE, JSON.stringify(now));
console.log(`${listings.length} listings in ${LANGUAGES.length} languages: site/`);
