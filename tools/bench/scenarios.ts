/** The scenarios of the benchmark: a request to the service, and one that has the floor give the same answer. */

import type { Call } from './load.ts';

export const API_KEY = 'benchmark-key-of-the-day';
export const PUBLIC_SITE_URL = 'https://www.example.com';
const FEED = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';

/**
 * `storedEvery`: the floor stores its counter every so many calls; 0 leaves it out. `leased`: it calls the
 * counter once for so many requests of a client. `inMemory`: it keeps pages.
 */
export type FloorMode = { storedEvery: number; leased: number; inMemory: boolean };

/** A request to the service, and its counterpart to the floor. */
export type Scenario = { name: string; service: Call; floor: Call };

/** The reads of the feed: an item, and several pages of listed homes. `condition` is the filter in SQL. */
const READS = [
  { name: 'list of 25', query: '', condition: '' },
  { name: 'list of 100', query: 'limit=100', condition: '' },
  { name: 'by slug', slug: 'home-1001' },
  { name: 'deep page', query: '', condition: '', pagesBefore: 8 },
  { name: 'filtered page', query: 'type=beach', condition: `AND type = 'beach'` },
] as const;

export type Ask = (call: Call) => Promise<string>;

/** Returns the reads. `ask` asks the service, whose answers the floor is told to give. */
export async function readScenarios(ask: Ask, mode: FloorMode): Promise<Scenario[]> {
  return Promise.all(
    READS.map(async (read) => {
      if ('slug' in read) {
        const sql = `SELECT document FROM properties WHERE slug = '${read.slug}' AND status <> 'hidden'`;
        const floor = floorRead({ sql, limit: '1', head: '', tail: '' }, mode);
        return { name: read.name, service: feedCall(`/${read.slug}`), floor };
      }
      const start = await pageAfter(ask, 'pagesBefore' in read ? read.pagesBefore : 0);
      const call = feedCall(`?${read.query}${start.cursor && `&cursor=${start.cursor}`}`);
      const page = parsePage(await ask(call));
      const sql = `SELECT document FROM properties WHERE status = 'listed' ${read.condition} ${start.condition}
        ORDER BY display_order, id LIMIT ${page.data.length + 1}`;
      const head = '{"object":"list","data":[';
      const tail = `],"has_more":${page.has_more},"next_cursor":${JSON.stringify(page.next_cursor)}}`;
      const floor = floorRead({ sql, limit: String(page.data.length), head, tail }, mode);
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

/** Returns an ingest of `EVENT`. */
export function ingestCall(headers: Record<string, string>): Call {
  const sent = { 'Content-Type': 'application/json', 'x-api-key': API_KEY, ...headers };
  return { method: 'POST', path: INGEST, headers: sent, body: BODY };
}

/** Returns the writes. The replay repeats a key that has been accepted before. */
export function ingestScenarios(mode: FloorMode): Scenario[] {
  const replayed = { 'Idempotency-Key': crypto.randomUUID() };
  return [
    { name: 'ingest, no key', headers: {}, hasFreshKeys: false },
    { name: 'ingest, fresh keys', headers: {}, hasFreshKeys: true },
    { name: 'replay', headers: replayed, hasFreshKeys: false },
  ].map(({ name, headers, hasFreshKeys }) => {
    const service = { ...ingestCall(headers), hasFreshKeys };
    const floor = { ...service, headers: { ...service.headers, ...floorHeaders(mode) } };
    return { name, service, floor };
  });
}

/** Returns a read of the feed. `path` follows the list's path: a query or an item. */
export function feedCall(path: string): Call {
  return { method: 'GET', path: `${FEED}${path}`, headers: { 'x-api-key': API_KEY } };
}

function floorRead(query: Record<string, string>, mode: FloorMode): Call {
  return { method: 'GET', path: `/?${new URLSearchParams(query)}`, headers: floorHeaders(mode) };
}

function floorHeaders({ storedEvery, leased, inMemory }: FloorMode) {
  return {
    'Floor-Stored-Every': String(storedEvery),
    'Floor-Leased': String(leased),
    ...(inMemory ? { 'Floor-Memory': 'yes' } : {}),
  };
}

type Page = {
  data: { id: string; display_order: number }[];
  has_more: boolean;
  next_cursor: string | null;
};

/** Parses a page of the service under measurement, without checking it. */
export function parsePage(text: string): Page {
  return JSON.parse(text);
}

/** Returns the cursor after that many pages of 100, and the SQL condition that means the same. */
async function pageAfter(ask: Ask, pages: number) {
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
