/**
 * What each operation costs, by count and in dollars per million at the published prices of Workers
 * Paid. docs/cost.md says what is counted here.
 */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../src/app.ts';
import { type Costs, counting } from './support/counting.ts';
import { bookingCreated, expectEvent, ingestInit } from './support/events.ts';
import { expectStatus, freshAddress, sendWith } from './support/http.ts';
import { sourceOf, storeListings } from './support/listings.ts';

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
/** The counter's share of a request of a client that sends ten per window: see `the counter` below. */
const ROWS_OF_THE_COUNTER = 3 / 10;
const ALARMS_OF_THE_COUNTER = 1 / 10;

/** Dollars per million, for a client of so many requests per window. */
function dollarsAMillion(
  costs: Costs,
  { rows, alarms } = { rows: ROWS_OF_THE_COUNTER, alarms: ALARMS_OF_THE_COUNTER },
): number {
  return (
    PRICES.request +
    PROCESSOR_AND_DURATION +
    PRICES.d1RowRead * costs.d1RowsRead +
    PRICES.d1RowWritten * costs.d1RowsWritten +
    PRICES.kvRead * costs.kvReads +
    PRICES.kvWrite * costs.kvWrites +
    PRICES.objectRequest * (costs.counterCalls + alarms) +
    PRICES.objectRowWritten * rows
  );
}

const [text = ''] = Object.values(
  import.meta.glob<string>('../docs/cost.md', { query: '?raw', import: 'default', eager: true }),
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

/** Sends one request and counts it, the work behind the answer included. */
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
    '%s takes one round trip to D1 and reads %d rows: at most $0.90',
    async (query, d1RowsRead) => {
      const costs = await costOf(`${LIST}${query}`);
      expect(costs).toEqual({ ...ONE_READ, d1RowsRead });
      expect(dollarsAMillion(costs)).toBeLessThanOrEqual(0.9);
    },
  );

  it('takes a page of 25 from D1 for at most $0.85', async () => {
    expect(dollarsAMillion(await costOf(LIST))).toBeLessThanOrEqual(0.85);
  });

  it.each(['?limit=7', '/home-8'])(
    '%s takes nothing but the counter from memory and from the edge: at most $0.80',
    async (query) => {
      const app = createApp();
      await costOf(`${LIST}${query}`, { app, vars: CACHED });
      for (const isolate of [app, createApp()]) {
        const costs = await costOf(`${LIST}${query}`, { app: isolate, vars: CACHED });
        expect(costs).toEqual(NOTHING);
        expect(dollarsAMillion(costs)).toBeLessThanOrEqual(0.8);
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

describe('a reading of events', () => {
  it('takes one round trip and as many rows as it gives, about', async () => {
    const ingested = await sendWith({}, INGEST, ingestInit(bookingCreated()));
    const { id } = await expectEvent(ingested, 202);
    for (const path of [`/${id}`, '?limit=2', '?limit=2&aggregate_id=bk_1']) {
      const costs = await costOf(`${EVENTS}${path}`);
      expect(costs).toMatchObject({ ...ONE_READ, d1RowsRead: expect.any(Number) });
      expect(costs.d1RowsRead).toBeLessThanOrEqual(4);
    }
  });
});

describe('the counter', () => {
  /** Rows that a client of so many requests a window has its object write: a value or an alarm is one. */
  async function rowsWrittenFor(requests: number): Promise<number> {
    const stub = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(freshAddress()));
    const writes = await runInDurableObject(stub, (_, { storage }) => [
      vi.spyOn(Object.getPrototypeOf(storage.kv), 'put'),
      vi.spyOn(Object.getPrototypeOf(storage), 'setAlarm'),
      vi.spyOn(Object.getPrototypeOf(storage.kv), 'delete'),
    ]);
    for (let index = 0; index < requests; index += 1) {
      await stub.count('default', 100);
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    await runDurableObjectAlarm(stub);
    vi.useRealTimers();
    const written = writes.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    vi.restoreAllMocks();
    return written;
  }

  const counted = rowsOf('requests per window').map((row) => row.map(Number));

  it('is told of for one request and for as many as the limit allows', () => {
    expect(counted).toEqual([
      [1, 0],
      [3, 0],
      [10, 3],
      [100, 21],
    ]);
  });

  it.each(counted)(
    'of a client of %d requests per window writes %d rows, its alarm included',
    async (requests, rows) => {
      expect(await rowsWrittenFor(requests ?? 0)).toBe(rows);
    },
  );
});

describe('docs/cost.md', () => {
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
    'feed, 25 cards from D1': () =>
      costOf(`${LIST}?fields=slug,title,hero_image,location,price_from&locale=en`),
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
    const { d1RoundTrips, d1RowsRead, d1RowsWritten, kvReads, kvWrites, counterCalls } = z
      .record(z.string(), z.number())
      .parse(costs);
    const told = /^≤ (\d+)$/.exec(cells[1] ?? '');
    const rowsRead = told ? Number(told[1]) : d1RowsRead;
    expect(d1RowsRead).toBeLessThanOrEqual(rowsRead ?? 0);
    const expected = [d1RoundTrips, rowsRead, d1RowsWritten, kvReads, kvWrites, counterCalls];
    expect(cells.slice(0, -1).map((cell) => Number(cell.replace('≤ ', '')))).toEqual(expected);
    const bounded = { ...NOTHING, ...costs, d1RowsRead: rowsRead ?? 0 };
    expect(cells.at(-1)).toBe(dollarsAMillion(bounded).toFixed(2));
  });

  it('has the prices and sums that are reckoned with here', () => {
    expect(rowsOf('price of').map(([, price]) => Number(price))).toEqual(Object.values(PRICES));
    const [memory, page, keyed] = [
      dollarsAMillion(NOTHING),
      dollarsAMillion({ ...ONE_READ, d1RowsRead: 26 }),
      dollarsAMillion({ ...ONE_READ, d1RowsRead: 12, d1RowsWritten: 4, kvReads: 1, kvWrites: 1 }),
    ];
    const busy = dollarsAMillion(NOTHING, { rows: 21 / 100, alarms: 1 / 100 });
    expect(text).toContain(`cost $${(4 * page).toFixed(2)}`);
    expect(text).toContain(`pays $${(memory - busy).toFixed(2)} less`);
    const ofKv = PRICES.kvRead + PRICES.kvWrite;
    expect(text).toContain(`pays $${ofKv.toFixed(2)} of its $${keyed.toFixed(2)}`);
    expect(text).toContain(`($${PROCESSOR_AND_DURATION.toFixed(4)})`);
  });
});
