/**
 * A site that renders each page at each visit: `node --env-file=.dev.vars live-page.ts`, then open
 * http://localhost:3000. `fetch` keeps its connections open, and each request says which response
 * the site has already.
 */

import { createServer } from 'node:http';

const { API_URL = 'http://localhost:3001', API_KEY = '', PORT = '3000' } = process.env;
/** A visitor waits for this time at most. */
const TIMEOUT_MS = 3_000;

type Card = { slug: string; name: string; title: { en?: string }; price_from: number | null };
type Listing = Card & { status: string; description: { en?: string } };
type Cards = { data: Card[]; next_cursor: string | null };

/** The latest response of each path. Only pages that exist are here. */
const latest = new Map<string, { etag: string; body: unknown }>();

/** Reads the feed, or takes the latest response while the feed fails. Returns null for a 404. */
async function read<Body>(path: string): Promise<Body | null> {
  const cached = latest.get(path);
  try {
    const headers = { 'x-api-key': API_KEY, ...(cached && { 'If-None-Match': cached.etag }) };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(`${API_URL}/api/v1/web/${path}`, { headers, signal });
    if (response.status === 304 && cached) return cached.body as Body;
    if (response.status === 404) {
      latest.delete(path);
      return null;
    }
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    const body = (await response.json()) as Body;
    latest.set(path, { etag: response.headers.get('ETag') ?? '', body });
    return body;
  } catch (error) {
    console.error(`${API_URL} ${path}:`, error);
    if (cached) return cached.body as Body;
    throw error;
  }
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const titleOf = ({ title, name }: Card) => escaped(title.en ?? name);

async function renderList(): Promise<string> {
  const links: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: string = cursor && `&cursor=${cursor}`;
    const page: Cards | null = await read<Cards>(`property-cards?limit=100&locale=en${next}`);
    for (const card of page?.data ?? []) {
      links.push(`<li><a href="/${card.slug}">${titleOf(card)}</a> ${card.price_from ?? ''}`);
    }
    cursor = page?.next_cursor ?? null;
  }
  return `<ul>${links.join('')}</ul>`;
}

async function renderListing(slug: string): Promise<string | null> {
  const listing = await read<Listing>(`properties/${encodeURIComponent(slug)}?locale=en`);
  if (!listing) return null;
  const soldOut = listing.status === 'sold_out' ? '<p>Sold out</p>' : '';
  const text = escaped(listing.description.en ?? '').replaceAll('\n', '<br>');
  return `<h1>${titleOf(listing)}</h1>${soldOut}<p>${text}</p>`;
}

const server = createServer(async (request, response) => {
  const slug = new URL(request.url ?? '', 'http://site').pathname.slice(1);
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  try {
    const page = slug ? await renderListing(slug) : await renderList();
    response.writeHead(page === null ? 404 : 200).end(page ?? '<p>There is no such home.</p>');
  } catch {
    response.writeHead(503, { 'Retry-After': '10' }).end('<p>Please come back in a moment.</p>');
  }
});
server.listen(Number(PORT), () => console.log(`http://localhost:${Object(server.address()).port}`));
