/**
 * Serves a site that renders a page for every visit. Start it with `node --env-file=.dev.vars
 * live-page.ts` and open http://localhost:3000. Requests to the feed contain the ETag of the cached
 * response.
 */

import * as http from 'node:http';
import * as https from 'node:https';
import { text } from 'node:stream/consumers';
import * as html from './listing-html.ts';

const { API_URL = 'http://localhost:3001', API_KEY = '', PORT = '3000' } = process.env;
/** How long a visitor waits for the feed. */
const TIMEOUT_MS = 3_000;
const client = API_URL.startsWith('https:') ? https : http;
/** Keeps connections open between visits. `fetch` would close them after four seconds. */
const agent = new client.Agent({ keepAlive: true });

type Cards = { data: html.ListingCard[]; next_cursor: string | null };

type Reply = { status: number; headers: http.IncomingHttpHeaders; body: string };

function get(path: string, headers: Record<string, string>): Promise<Reply> {
  const options = { agent, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
  return new Promise((resolve, reject) => {
    const request = client.get(`${API_URL}/api/v1/web/${path}`, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      text(response).then((body) => resolve({ status, headers, body }), reject);
    });
    request.on('error', reject);
  });
}

/** The latest successful response for each path. */
const latest = new Map<string, { etag: string; body: unknown }>();

/**
 * Reads the feed. Returns the latest cached response if the request fails, and null if the listing
 * does not exist.
 */
async function read<Body>(path: string): Promise<Body | null> {
  const cached = latest.get(path);
  try {
    const condition = cached && { 'If-None-Match': cached.etag };
    const { status, headers, body } = await get(path, { 'x-api-key': API_KEY, ...condition });
    // A 404 without this header comes from a proxy and does not mean that the listing is hidden.
    if (status === 404 && headers['x-should-retry']) latest.delete(path);
    else if (status === 200) latest.set(path, { etag: headers.etag ?? '', body: JSON.parse(body) });
    else if (status !== 304) throw new Error(`${status} ${body}`);
  } catch (error) {
    console.error(`${API_URL} ${path}:`, error);
    if (!cached) throw error;
  }
  return (latest.get(path)?.body ?? null) as Body | null;
}

const document = (title: string, body: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html.escapeHtml(title)}</title>
${body}
`;

const messagePage = (text: string) => document(text, `<h1>${text}</h1><a href="/">Our homes</a>`);

async function renderList(): Promise<string> {
  const items: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: string = cursor && `&cursor=${cursor}`;
    const page: Cards | null = await read<Cards>(`property-cards?limit=100&locale=en${next}`);
    for (const card of page?.data ?? []) {
      const link = { tag: 'h2', href: `/listings/${card.slug}`, loading: 'lazy' } as const;
      items.push(`<li>${html.card(card, 'en', link)}</li>`);
    }
    cursor = page?.next_cursor ?? null;
  }
  return document('Our homes', `<h1>Our homes</h1><ul>${items.join('')}</ul>`);
}

async function renderListing(slug: string): Promise<string | null> {
  const listing = await read<html.Listing>(`properties/${encodeURIComponent(slug)}?locale=en`);
  if (!listing) return null;
  const { badges, facts, heading, place, price, text } = html;
  const parts = [place, badges, price, facts, text].map((part) => part(listing, 'en'));
  const title = html.pickText(listing.title, 'en') || listing.name;
  return document(title, heading('h1', listing, 'en') + parts.join('\n'));
}

/**
 * Returns the page at a path; null if there is none. Slugs contain only these characters, so no
 * decoding is needed.
 */
async function render(path: string): Promise<string | null> {
  if (path === '/') return renderList();
  const [, slug] = /^\/listings\/([a-z0-9_-]+)$/.exec(path) ?? [];
  return slug ? renderListing(slug) : null;
}

const server = http.createServer(async (request, response) => {
  const reply = (status: number, page: string) => response.writeHead(status).end(page);
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    reply(405, messagePage('This site is only read'));
    return;
  }
  try {
    const [path = ''] = (request.url ?? '').split('?');
    const page = await render(path);
    if (page) reply(200, page);
    else reply(404, messagePage('There is no such page'));
  } catch {
    response.setHeader('Retry-After', '10');
    reply(503, messagePage('Please come back in a moment'));
  }
});
server.listen(Number(PORT), () => console.log(`http://localhost:${Object(server.address()).port}`));
