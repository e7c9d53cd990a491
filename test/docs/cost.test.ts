/**
 * The cost of each operation, by count and in dollars per million at the published prices of Workers
 * Paid. docs/operate/cost.md has the figures of these counts.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { type Costs, counting } from '../support/counting.ts';
import { bookingCreated, expectEvent, ingestInit } from '../support/events.ts';
import { expectStatus, freshAddress, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const LIST = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const INGEST = '/api/public/events/ingest';
const EVENTS = '/api/v1/events';
const CACHED = { FEED_CACHE_SECONDS: '60' };

/** Dollars per million. */
const PRICES = {
  request: 0.3,
  d1RowRead: 0.001,
  d1RowWritten: 1,
  kvRead: 0.5,
  kvWrite: 5,
  objectRequest: 0.15,
  objectRowWritten: 1,
};
/** Taken, not counted: 1 ms of processor at $0.02, an object awake for 2 ms of 128 MB at $12.50 a GB-second. */
const PROCESSOR_AND_DURATION = 0.02 + 0.0032;
/** The most bytes that the line of a request has in the log: see `the log` below. */
const LINE_BYTES = 400;
/** Dollars per GB that is written to the log, and per GB and month that is stored there. Lines are stored for 7 days. */
const LOG = { ingested: 0.25, stored: 0.1 };
const dollarsOfLines = (bytes: number) => (bytes / 1_000) * (LOG.ingested + (LOG.stored * 7) / 30);
/** The counter's share of a request of a client that sends ten per window: see `the counter` below. */
const OF_TEN = { calls: 2 / 10, rows: 2 / 10, alarms: 1 / 10 };

/** Dollars per million, for a client of so many requests per window. */
function dollarsAMillion(costs: Costs, { calls, rows, alarms } = OF_TEN): number {
  return (
    PRICES.request +
    PROCESSOR_AND_DURATION +
    dollarsOfLines(LINE_BYTES) +
    PRICES.d1RowRead * costs.d1RowsRead +
    PRICES.d1RowWritten * costs.d1RowsWritten +
    PRICES.kvRead * costs.kvReads +
    PRICES.kvWrite * costs.kvWrites +
    PRICES.objectRequest * (calls + alarms) +
    PRICES.objectRowWritten * rows
  );
}

const [text = ''] = Object.values(
  import.meta.glob<string>('../../docs/operate/cost.md', {
    query: '?raw',
    import: 'default',
    eager: true,
  }),
);

/** The rows of the document's table whose first column has this head. */
function rowsOf(head: string): string[][] {
  const table =
    text.match(/(?:^\|.*\|\n)+/gm)?.find((each) => each.startsWith(`| ${head} |`)) ?? '';
  const cells = table.trim().split('\n').slice(2);
  return cells.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** Sends one request and counts its cost, with the work after the answer. */
async function costOf(
  path: string,
  { status = 200, init = {}, app = createApp(), vars = {} } = {} as {
    status?: number;
    init?: RequestInit;
    app?: ReturnType<typeof createApp>;
    vars?: Partial<Env>;
  },
): Promise<Costs> {
  const counted = counting({ ...env, ...vars });
  const headers = new Headers(init.headers);
  headers.set('CF-Connecting-IP', freshAddress());
  await expectStatus(await sendWith(counted.env, path, { ...init, headers }, app), status);
  return counted.costs;
}

const NOTHING = {
  d1RoundTrips: 0,
  d1RowsRead: 0,
  d1RowsWritten: 0,
  kvReads: 0,
  kvWrites: 0,
  counterCalls: 1,
};
const ONE_READ = { ...NOTHING, d1RoundTrips: 1 };

beforeAll(() =>
  storeListings(
    env.DB,
    Array.from({ length: 130 }, (_, index) =>
      sourceOf({ slug: `home-${index}`, display_order: index }),
    ),
  ),
);

describe('the feed', () => {
  it.each([
    ['', 26],
    ['?limit=100', 101],
    ['/home-7', 1],
  ])(
    '%s takes one round trip to D1 and reads %d rows: at most $0.80',
    async (query, d1RowsRead) => {
      const costs = await costOf(`${LIST}${query}`);
      expect(costs).toEqual({ ...ONE_READ, d1RowsRead });
      expect(dollarsAMillion(costs)).toBeLessThanOrEqual(0.8);
    },
  );

  it('takes a page of 25 from D1 for at most $0.75', async () => {
    expect(dollarsAMillion(await costOf(LIST))).toBeLessThanOrEqual(0.75);
  });

  it.each(['?limit=7', '/home-8'])(
    '%s takes nothing but the counter from memory and from the edge: at most $0.75, its line in the log included',
    async (query) => {
      const app = createApp();
      await costOf(`${LIST}${query}`, { app, vars: CACHED });
      for (const isolate of [app, createApp()]) {
        const costs = await costOf(`${LIST}${query}`, { app: isolate, vars: CACHED });
        expect(costs).toEqual(NOTHING);
        expect(dollarsAMillion(costs)).toBeLessThanOrEqual(0.75);
      }
    },
  );
});

describe('an ingest', () => {
  it('takes four rows, one KV read and one KV write with a fresh key: at most $11', async () => {
    const init = ingestInit(bookingCreated(), crypto.randomUUID());
    const costs = await costOf(INGEST, { status: 202, init });
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsWritten: 4, kvReads: 1, kvWrites: 1 });
    expect(dollarsAMillion(costs)).toBeLessThanOrEqual(11);
  });

  it('takes three rows and nothing of KV without a key: at most $4.50', async () => {
    const costs = await costOf(INGEST, { status: 202, init: ingestInit(bookingCreated()) });
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsWritten: 3, kvReads: 0, kvWrites: 0 });
    expect(dollarsAMillion(costs)).toBeLessThanOrEqual(4.5);
  });

  it('takes no row and one KV read as a replay: at most $2', async () => {
    const init = ingestInit(bookingCreated(), crypto.randomUUID());
    await costOf(INGEST, { status: 202, init });
    const costs = await costOf(INGEST, { init });
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsWritten: 0, kvReads: 1, kvWrites: 0 });
    expect(dollarsAMillion(costs)).toBeLessThanOrEqual(2);
  });
});

/** Makes the request of a batch whose keys are new. */
function batchOf(size: number): RequestInit {
  const events = Array.from({ length: size }, () => ({
    ...bookingCreated(),
    idempotency_key: crypto.randomUUID(),
  }));
  const { headers = {} } = ingestInit(bookingCreated());
  return { method: 'POST', headers, body: JSON.stringify({ events }) };
}

describe('a batch of 100', () => {
  it('takes 400 rows and nothing of KV: at most $4.20 per million events', async () => {
    const costs = await costOf(`${INGEST}/batch`, { init: batchOf(100) });
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsWritten: 400, kvReads: 0, kvWrites: 0 });
    expect(dollarsAMillion(costs) / 100).toBeLessThanOrEqual(4.2);
  });
});

describe('a look of a waiting request', () => {
  it('takes one round trip and at most 3 rows while nothing is new: 26 looks add less than $0.08', async () => {
    const none = `${EVENTS}?order=asc&aggregate_type=booking&aggregate_id=${crypto.randomUUID()}`;
    const costs = await costOf(none);
    expect(costs.d1RoundTrips).toBe(1);
    expect(costs.d1RowsRead).toBeLessThanOrEqual(3);
    expect(26 * costs.d1RowsRead * PRICES.d1RowRead).toBeLessThan(0.08);
    expect(text).toContain('less than $0.08');
  });
});

describe('a read of events', () => {
  it('takes one round trip and about as many rows as it returns', async () => {
    const ingested = await sendWith({}, INGEST, ingestInit(bookingCreated()));
    const { id } = await expectEvent(ingested, 202);
    for (const path of [`/${id}`, '?limit=2', '?limit=2&aggregate_id=bk_1']) {
      const costs = await costOf(`${EVENTS}${path}`);
      expect(costs).toMatchObject({ ...ONE_READ, d1RowsRead: expect.any(Number) });
      expect(costs.d1RowsRead).toBeLessThanOrEqual(5);
    }
  });
});

describe('the counter', () => {
  /**
   * What the counter costs a client of so many requests per window, at one isolate: calls by the
   * isolate, and rows. A value that is put or deleted is a row, and so is an alarm that is set.
   */
  async function costOfCounting(requests: number): Promise<{ calls: number; rows: number }> {
    const client = freshAddress();
    const stub = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(client));
    const writes = await runInDurableObject(stub, (_, { storage }) => [
      vi.spyOn(Object.getPrototypeOf(storage.kv), 'put'),
      vi.spyOn(Object.getPrototypeOf(storage), 'setAlarm'),
      vi.spyOn(Object.getPrototypeOf(storage.kv), 'delete'),
    ]);
    const counted = counting(env);
    const app = createApp();
    for (let sent = 0; sent < requests; sent += 1) {
      const headers = { 'CF-Connecting-IP': client };
      await expectStatus(await sendWith(counted.env, '/api/none', { headers }, app), 404);
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    await runDurableObjectAlarm(stub);
    vi.useRealTimers();
    const rows = writes.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    vi.restoreAllMocks();
    return { calls: counted.costs.counterCalls, rows };
  }

  const told = rowsOf('requests per window');

  it('is stated for clients of one request, and of as many as the limit allows', () => {
    expect(told).toEqual([
      ['1', '1', '0', '0.58'],
      ['3', '1', '0', '0.48'],
      ['4', '2', '2', '1.05'],
      ['10', '2', '2', '0.68'],
      ['100', '≤ 25', '≤ 25', '≤ 0.72'],
    ]);
  });

  it.each(told)(
    'takes of a client of %s requests per window %s calls and %s rows, its alarm included',
    async (...[requests, ...cells]) => {
      const [calls = 0, rows = 0, dollars] = cells.map((cell) => Number(cell.replace('≤ ', '')));
      const measured = await costOfCounting(Number(requests));
      if (cells[0]?.startsWith('≤')) {
        expect(measured.calls).toBeLessThanOrEqual(calls);
        expect(measured.rows).toBeLessThanOrEqual(rows);
      } else {
        expect(measured).toEqual({ calls, rows });
      }
      const alarms = rows > 0 ? 1 : 0;
      const shares = [calls, rows, alarms].map((each) => each / Number(requests));
      const [ofCalls = 0, ofRows = 0, ofAlarms = 0] = shares;
      const sum = dollarsAMillion(NOTHING, { calls: ofCalls, rows: ofRows, alarms: ofAlarms });
      expect(dollars).toBe(Number(sum.toFixed(2)));
    },
  );
});

describe('the log', () => {
  /** Sends a request as production does, and returns the bytes of the lines that it writes. */
  async function bytesOf(path: string, init: RequestInit, app: ReturnType<typeof createApp>) {
    const logged = vi.spyOn(console, 'log').mockReturnValue(undefined);
    const id = '85618485-0318-4883-ac9d-45220dd7cc37';
    const CF_VERSION_METADATA = { id, tag: '8ee1a43', timestamp: '' };
    const key = await namedKey('booking-system-of-the-agency', ['feed:read', 'events:write']);
    const headers = new Headers(init.headers);
    headers.set('x-api-key', key.key);
    headers.set('CF-Connecting-IP', freshAddress());
    const changes = { ...CACHED, CF_VERSION_METADATA, API_KEYS: [key.entry] };
    const request = { ...init, headers, cf: { colo: 'MAD' } };
    const response = await sendWith(changes, path, request, app);
    expect(response.status).toBeLessThan(300);
    const lines = logged.mock.calls.map(([line]) => String(line));
    logged.mockRestore();
    return lines.map((line) => new TextEncoder().encode(line).length);
  }

  it('has one line per request, of at most 400 bytes', async () => {
    const app = createApp();
    const ingest = ingestInit(bookingCreated(), crypto.randomUUID());
    const sizes = [
      await bytesOf(`${LIST}?limit=9`, {}, app),
      await bytesOf(`${LIST}?limit=9`, {}, app),
      await bytesOf(INGEST, ingest, app),
      await bytesOf(INGEST, ingest, app),
    ];
    expect(sizes.map((lines) => lines.length)).toEqual([1, 1, 1, 1]);
    expect(Math.max(...sizes.flat())).toBeLessThanOrEqual(LINE_BYTES);
  });
});

describe('docs/operate/cost.md', () => {
  const ingest = (key?: string) =>
    costOf(INGEST, { status: 202, init: ingestInit(bookingCreated(), key) });
  const OPERATIONS: Readonly<Record<string, () => Promise<Costs>>> = {
    'feed, from memory or edge': async () => {
      const app = createApp();
      await costOf(LIST, { app, vars: CACHED });
      return costOf(LIST, { app, vars: CACHED });
    },
    'feed, page of 25 from D1': () => costOf(LIST),
    'feed, page of 100 from D1': () => costOf(`${LIST}?limit=100`),
    'feed, listing from D1': () => costOf(`${LIST}/home-9`),
    'feed, 25 cards from D1': () => costOf('/api/v1/web/property-cards?locale=en'),
    'changes, first page of 25': () => costOf(CHANGES),
    'changes, nothing new': async () => {
      let after = '';
      for (let more = true; more; ) {
        const response = await sendWith({}, `${CHANGES}?limit=100${after}`);
        const page = await response.json<{ has_more: boolean; resume_cursor: string }>();
        after = `&after=${page.resume_cursor}`;
        more = page.has_more;
      }
      return costOf(`${CHANGES}?limit=100${after}`);
    },
    'locations, page of 25 from D1': async () => {
      const places = Array.from({ length: 30 }, (_, index) =>
        env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)').bind(
          crypto.randomUUID(),
          `place-${index}`,
          '{}',
        ),
      );
      await env.DB.batch(places);
      return costOf('/api/v1/web/locations');
    },
    'ingest, new key': () => ingest(crypto.randomUUID()),
    'ingest, no key': () => ingest(),
    'ingest, batch of 100': () => costOf(`${INGEST}/batch`, { init: batchOf(100) }),
    replay: async () => {
      const key = crypto.randomUUID();
      await ingest(key);
      return costOf(INGEST, { init: ingestInit(bookingCreated(), key) });
    },
    'events, page of 25': async () => {
      for (let stored = 0; stored < 26; stored += 1) await ingest();
      return costOf(EVENTS);
    },
  };
  const operations = rowsOf('operation');

  it('has every operation', () => {
    expect(operations.map(([name]) => name)).toEqual(Object.keys(OPERATIONS));
  });

  it.each(operations)('says what is counted: %s', async (name, ...cells) => {
    const costs = await OPERATIONS[name ?? '']?.();
    const { d1RoundTrips, d1RowsRead, d1RowsWritten, kvReads, kvWrites } = z
      .record(z.string(), z.number())
      .parse(costs);
    const told = /^≤ (\d+)$/.exec(cells[1] ?? '');
    const rowsRead = told ? Number(told[1]) : d1RowsRead;
    expect(d1RowsRead).toBeLessThanOrEqual(rowsRead ?? 0);
    const expected = [d1RoundTrips, rowsRead, d1RowsWritten, kvReads, kvWrites];
    expect(cells.slice(0, -1).map((cell) => Number(cell.replace('≤ ', '')))).toEqual(expected);
    const bounded = { ...NOTHING, ...costs, d1RowsRead: rowsRead ?? 0 };
    expect(cells.at(-1)).toBe(dollarsAMillion(bounded).toFixed(2));
  });

  it('has the prices and sums of this test', () => {
    expect(rowsOf('price of').map(([, price]) => Number(price))).toEqual(Object.values(PRICES));
    const [memory, page, keyed] = [
      dollarsAMillion(NOTHING),
      dollarsAMillion({ ...ONE_READ, d1RowsRead: 26 }),
      dollarsAMillion({ ...ONE_READ, d1RowsRead: 12, d1RowsWritten: 4, kvReads: 1, kvWrites: 1 }),
    ];
    expect(text).toContain(`cost $${(4 * page).toFixed(2)}`);
    expect(text.replace(/\s+/g, ' ')).toContain(
      `makes the $${memory.toFixed(2)} of a feed read from memory`,
    );
    const [line = [], average = []] = rowsOf('size of an event in the log');
    expect(rowsOf('price of the log').map(([, price]) => Number(price))).toEqual([
      LOG.ingested,
      LOG.stored,
    ]);
    expect(line.slice(1)).toEqual([String(LINE_BYTES), dollarsOfLines(LINE_BYTES).toFixed(2)]);
    expect(average.slice(1)).toEqual(['4840', dollarsOfLines(4_840).toFixed(2)]);
    const ofKv = PRICES.kvRead + PRICES.kvWrite;
    expect(text).toContain(`pays $${ofKv.toFixed(2)} of its $${keyed.toFixed(2)}`);
    expect(text).toContain(`($${PROCESSOR_AND_DURATION.toFixed(4)})`);
  });
});
