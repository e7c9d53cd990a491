/** What is measured: the same request to the service and to the floor, and what the floor does for it. */

import type { Call } from './load.ts';

export const API_KEY = 'benchmark-key-of-the-day';
export const PUBLIC_SITE_URL = 'https://www.example.com';
const FEED = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';

/** How the floor works: how often the counter is stored (0: there is none), and whether pages are kept. */
export type FloorWay = { storedEvery: number; inMemory: boolean };

/** One request to the service, and what the floor is asked instead. */
export type Scenario = { name: string; service: Call; floor: Call };

/** The reads of the feed: an item, and a page in several forms, each of listed homes; `condition` says of which. */
const READS = [
  { name: 'list of 25', query: '', condition: '' },
  { name: 'list of 100', query: 'limit=100', condition: '' },
  { name: 'by slug', slug: 'home-1001' },
  { name: 'deep page', query: '', condition: '', pagesBefore: 8 },
  { name: 'filtered page', query: 'type=beach', condition: `AND type = 'beach'` },
] as const;

export type Asking = (call: Call) => Promise<string>;

/** The reads, the floor's way of them given. `ask` asks the service: the floor is told what to answer. */
export async function readScenarios(ask: Asking, way: FloorWay): Promise<Scenario[]> {
  return Promise.all(
    READS.map(async (read) => {
      if ('slug' in read) {
        const sql = `SELECT document FROM properties WHERE slug = '${read.slug}' AND status <> 'hidden'`;
        const floor = floorRead({ sql, limit: '1', head: '', tail: '' }, way);
        return { name: read.name, service: feedCall(`/${read.slug}`), floor };
      }
      const start = await pageAfter(ask, 'pagesBefore' in read ? read.pagesBefore : 0);
      const call = feedCall(`?${read.query}${start.cursor && `&cursor=${start.cursor}`}`);
      const page = parsePage(await ask(call));
      const sql = `SELECT document FROM properties WHERE status = 'listed' ${read.condition} ${start.condition}
        ORDER BY display_order, id LIMIT ${page.data.length + 1}`;
      const head = '{"object":"list","data":[';
      const tail = `],"has_more":${page.has_more},"next_cursor":${JSON.stringify(page.next_cursor)}}`;
      const floor = floorRead({ sql, limit: String(page.data.length), head, tail }, way);
      return { name: read.name, service: call, floor };
    }),
  );
}

/** The event that is ingested, again and again. */
export const EVENT = {
  event_type: 'booking.created' as const,
  aggregate_id: 'booking-4711',
  aggregate_type: 'booking',
  payload: {
    property_id: '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42',
    check_in: '2027-06-01',
    check_out: '2027-06-08',
    guests: 4,
    currency: 'EUR',
    total_amount: 3200.5,
  },
};
const BODY = JSON.stringify(EVENT);

/** An ingest of `EVENT`. */
export function ingestCall(headers: Record<string, string>): Call {
  const sent = { 'Content-Type': 'application/json', 'x-api-key': API_KEY, ...headers };
  return { method: 'POST', path: INGEST, headers: sent, body: BODY };
}

/** The writes. A replay repeats one key that has been accepted before. */
export function ingestScenarios(way: FloorWay): Scenario[] {
  const replayed = { 'Idempotency-Key': crypto.randomUUID() };
  return [
    { name: 'ingest, no key', headers: {}, hasFreshKeys: false },
    { name: 'ingest, fresh keys', headers: {}, hasFreshKeys: true },
    { name: 'replay', headers: replayed, hasFreshKeys: false },
  ].map(({ name, headers, hasFreshKeys }) => {
    const service = { ...ingestCall(headers), hasFreshKeys };
    const floor = { ...service, headers: { ...service.headers, ...floorHeaders(way) } };
    return { name, service, floor };
  });
}

/** A read of the feed: `path` is what follows the list's own, a query or an item. */
export function feedCall(path: string): Call {
  return { method: 'GET', path: `${FEED}${path}`, headers: { 'x-api-key': API_KEY } };
}

function floorRead(query: Record<string, string>, way: FloorWay): Call {
  return { method: 'GET', path: `/?${new URLSearchParams(query)}`, headers: floorHeaders(way) };
}

function floorHeaders({ storedEvery, inMemory }: FloorWay) {
  return {
    'Floor-Stored-Every': String(storedEvery),
    ...(inMemory ? { 'Floor-Memory': 'yes' } : {}),
  };
}

type Page = {
  data: { id: string; display_order: number }[];
  has_more: boolean;
  next_cursor: string | null;
};

/** A page as the service under measurement answered it: taken at its word. */
export function parsePage(text: string): Page {
  return JSON.parse(text);
}

/** The cursor after so many pages of 100, and the condition that means the same. */
async function pageAfter(ask: Asking, pages: number) {
  let cursor = '';
  let condition = '';
  for (let page = 0; page < pages; page += 1) {
    const call = feedCall(`?limit=100${cursor && `&cursor=${cursor}`}`);
    const { data, next_cursor } = parsePage(await ask(call));
    const last = data.at(-1);
    if (last === undefined || next_cursor === null) throw new Error('the feed is too short');
    cursor = next_cursor;
    condition = `AND (display_order, id) > (${last.display_order}, '${last.id}')`;
  }
  return { cursor, condition };
}
