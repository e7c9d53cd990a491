/**
 * A site that renders each page at each visit: `node --env-file=.dev.vars live-page.ts`, then open
 * http://localhost:3000. Each request says which response the site has already.
 */

import * as http from 'node:http';
import * as https from 'node:https';
import { text } from 'node:stream/consumers';

const { API_URL = 'http://localhost:3001', API_KEY = '', PORT = '3000' } = process.env;
/** A visitor waits for this time at most. */
const TIMEOUT_MS = 3_000;
const client = API_URL.startsWith('https:') ? https : http;
/** Keeps connections open between visits. `fetch` closes them after four seconds. */
const agent = new client.Agent({ keepAlive: true });

type Card = { slug: string; name: string; title: { en?: string }; price_from: number | null };
type Listing = Card & { status: string; description: { en?: string } };
type Cards = { data: Card[]; next_cursor: string | null };

type Reply = { status: number; etag: string; body: string };

function get(path: string, headers: Record<string, string>): Promise<Reply> {
  const options = { agent, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
  return new Promise((resolve, reject) => {
    const request = client.get(`${API_URL}/api/v1/web/${path}`, options, (response) => {
      const { statusCode: status = 0, headers } = response;
      text(response).then((body) => resolve({ status, etag: headers.etag ?? '', body }), reject);
    });
    request.on('error', reject);
  });
}

/** The latest response of each path. Only pages that exist are here. */
const latest = new Map<string, { etag: string; body: unknown }>();

/** Reads the feed, or takes the latest response while the feed fails. Returns null for a 404. */
async function read<Body>(path: string): Promise<Body | null> {
  const cached = latest.get(path);
  try {
    const known = cached && { 'If-None-Match': cached.etag };
    const { status, etag, body } = await get(path, { 'x-api-key': API_KEY, ...known });
    if (status === 404) latest.delete(path);
    else if (status === 200) latest.set(path, { etag, body: JSON.parse(body) });
    else if (status !== 304) throw new Error(`${status} ${body}`);
  } catch (error) {
    console.error(`${API_URL} ${path}:`, error);
    if (!cached) throw error;
  }
  return (latest.get(path)?.body ?? null) as Body | null;
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

const server = http.createServer(async (request, response) => {
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
