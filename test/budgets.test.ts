/** Checks the calls, rows and prices that docs/operate/cost.md states for each operation. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createApp } from '../src/app.ts';
import { type Costs, countCosts, NOTHING } from './support/counting.ts';
import { batchItem, bookingCreated, ingestInit } from './support/events.ts';
import { expectStatus, freshAddress, sendWith } from './support/http.ts';
import { namedKey } from './support/keys.ts';
import { makeListing, storeListings } from './support/listings.ts';
import { getTable } from './support/markdown.ts';

const LIST = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const INGEST = '/api/public/events/ingest';
const EVENTS = '/api/v1/events';
const CACHED = { FEED_CACHE_SECONDS: '60' };

const COUNTER_CALL = 0.15;
/**
 * Price of a million requests in dollars. Each request uses 1 ms of CPU time and 2 ms of counter time, and
 * its 1,200 bytes of logs are kept for 7 days.
 */
const REQUEST = 0.3 + 0.02 + 0.0032 + 1.2 * (0.25 + (0.1 * 7) / 30);

const readRows = (head: string) => getTable('docs/operate/cost.md', head).rows;

/** Sends a request. Returns its costs, which include the work after the response. */
async function measureCosts(
  path: string,
  { status = 200, init = {}, app = createApp(), vars = {} } = {} as {
    status?: number;
    init?: RequestInit;
    app?: ReturnType<typeof createApp>;
    vars?: Partial<Env>;
  },
): Promise<Costs> {
  const counted = countCosts({ ...env, ...vars });
  await expectStatus(await sendWith(counted.env, path, init, app), status);
  return counted.costs;
}

beforeAll(async () => {
  const listings = Array.from({ length: 130 }, (_, index) =>
    makeListing({ slug: `home-${index}`, display_order: index }),
  );
  await storeListings(env.DB, listings);
  const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
  const places = Array.from({ length: 30 }, (_, index) =>
    insert.bind(crypto.randomUUID(), `place-${index}`, '{}'),
  );
  await env.DB.batch(places);
});

const ingest = (key?: string, status = 202) =>
  measureCosts(INGEST, { status, init: ingestInit(bookingCreated(), key) });

/** Makes a batch of events with new keys. */
function makeBatch(size: number): RequestInit {
  return ingestInit({ events: Array.from({ length: size }, () => batchItem()) });
}

const OPERATIONS: Readonly<Record<string, () => Promise<Costs>>> = {
  'feed, from memory or edge': async () => {
    const app = createApp();
    await measureCosts(LIST, { app, vars: CACHED });
    const fromMemory = await measureCosts(LIST, { app, vars: CACHED });
    expect(await measureCosts(LIST, { vars: CACHED })).toEqual(fromMemory);
    return fromMemory;
  },
  'feed, page of 25 from D1': () => measureCosts(LIST),
  'feed, page of 100 from D1': () => measureCosts(`${LIST}?limit=100`),
  'feed, listing from D1': () => measureCosts(`${LIST}/home-9`),
  'feed, 25 cards from D1': () => measureCosts('/api/v1/web/property-cards?locale=en'),
  'changes, first page of 25': () => measureCosts(CHANGES),
  'changes, nothing new': async () => {
    let after = '';
    for (let hasMore = true; hasMore; ) {
      const response = await sendWith({}, `${CHANGES}?limit=100${after}`);
      const page = await response.json<{ has_more: boolean; resume_cursor: string }>();
      after = `&after=${page.resume_cursor}`;
      hasMore = page.has_more;
    }
    return measureCosts(`${CHANGES}?limit=100${after}`);
  },
  'locations, page of 25 from D1': () => measureCosts('/api/v1/web/locations'),
  'rejected by the limit': async () => {
    const app = createApp();
    const init = { headers: { 'CF-Connecting-IP': freshAddress() } };
    const vars = { RATE_LIMIT_DEFAULT: '1' };
    await expectStatus(await sendWith(vars, LIST, init, app), 200);
    const counted = countCosts({ ...env, ...vars });
    await expectStatus(await sendWith(counted.env, LIST, init, app), 429);
    return counted.costs;
  },
  'ingest, new key': () => ingest(crypto.randomUUID()),
  'ingest, no key': () => ingest(),
  'ingest, batch of 100': () => measureCosts(`${INGEST}/batch`, { init: makeBatch(100) }),
  replay: async () => {
    const key = crypto.randomUUID();
    await ingest(key);
    return ingest(key, 200);
  },
  'events, page of 25': async () => {
    for (let stored = 0; stored < 26; stored += 1) await ingest();
    return measureCosts(EVENTS);
  },
  'events, nothing new': () =>
    measureCosts(`${EVENTS}?order=asc&aggregate_type=booking&aggregate_id=${crypto.randomUUID()}`),
};

describe('docs/operate/cost.md', () => {
  const operations = readRows('operation');

  it('lists every operation', () => {
    expect(operations.map(([name]) => name)).toEqual(Object.keys(OPERATIONS));
  });

  it.each(operations)('states the calls, rows and price of %s', async (name = '', ...cells) => {
    const costs = (await OPERATIONS[name]?.()) ?? NOTHING;
    const [, bound] = /^≤ (\d+)$/.exec(cells[1] ?? '') ?? [];
    const d1RowsRead = Number(bound ?? costs.d1RowsRead);
    expect(costs.d1RowsRead).toBeLessThanOrEqual(d1RowsRead);
    const { d1RoundTrips, d1RowsWritten, kvReads, kvWrites } = costs;
    const dollars =
      REQUEST +
      (name === 'rejected by the limit' ? 0 : COUNTER_CALL / 10) +
      (0.001 * d1RowsRead + d1RowsWritten + 0.5 * kvReads + 5 * kvWrites);
    expect(cells.at(-1)).toBe(dollars.toFixed(2));
    expect(cells.slice(0, -1)).toEqual([
      String(d1RoundTrips),
      `${bound === undefined ? '' : '≤ '}${d1RowsRead}`,
      ...[d1RowsWritten, kvReads, kvWrites].map(String),
    ]);
  });
});

/**
 * Sends requests with one key to one isolate. Counts the calls and rows that they cost in a window. Each
 * value that is put or deleted counts as a row, and so does each alarm that is set.
 */
async function measureCounter(requests: number): Promise<{ calls: number; rows: number }> {
  const { key, entry } = await namedKey(`site-${requests}`, ['feed:read']);
  const stub = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(`key ${entry.name}`));
  const writes = await runInDurableObject(stub, (_, { storage }) => [
    vi.spyOn(Object.getPrototypeOf(storage.kv), 'put'),
    vi.spyOn(Object.getPrototypeOf(storage), 'setAlarm'),
    vi.spyOn(Object.getPrototypeOf(storage.kv), 'delete'),
  ]);
  const { env: counted, costs } = countCosts(env);
  const bindings = { ...counted, API_KEYS: [{ ...entry, rate_limit: 100 }] };
  const app = createApp();
  for (let sent = 0; sent < requests; sent += 1) {
    const headers = { 'x-api-key': key };
    await expectStatus(await sendWith(bindings, '/api/none', { headers }, app), 404);
  }
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 121_000 });
  await runDurableObjectAlarm(stub);
  const rows = writes.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  return { calls: costs.counterCalls, rows };
}

describe('the counter', () => {
  it.each(readRows('requests per window'))(
    'serves %s requests per window with %s calls and %s rows',
    async (...cells) => {
      const [requests = 0, calls = 0, rows = 0] = cells.map(Number);
      expect(await measureCounter(requests)).toEqual({ calls, rows });
      expect(cells[3]).toBe((REQUEST + (COUNTER_CALL * calls + rows) / requests).toFixed(2));
    },
  );
});
