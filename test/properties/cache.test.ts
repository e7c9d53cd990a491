/**
 * The feed's two cache levels, the version of the catalogue that they share, and stale responses
 * while D1 fails, stalls or is slow.
 */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { counting, NOTHING } from '../support/counting.ts';
import { failingD1, gatedD1 } from '../support/faults.ts';
import { callWith, expectError, expectStatus, freshAddress } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';
import { tapD1, tapMethods } from '../support/tap.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const LIST = '/api/v1/web/properties';
const START = Date.parse('2030-01-01T00:00:00Z');
const FAILING = { DB: failingD1(env.DB, { when: 'before commit' }) };

/** Each test has its own data centre and listing. */
let host = '';
let slug = '';
/** It has read the listing at the start. */
let one: ReturnType<typeof isolate>;
let log: MockInstance<typeof console.log>;
let faultLog: MockInstance<typeof console.error>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  log = vi.spyOn(console, 'log').mockReturnValue(undefined);
  faultLog = vi.spyOn(console, 'error').mockReturnValue(undefined);
  host = `${crypto.randomUUID()}.example.com`;
  slug = `home-${crypto.randomUUID().slice(0, 8)}x`;
  await storeListings(env.DB, [sourceOf({ slug, name: 'Before' })]);
  one = isolate();
  await one.read();
});

function atSecond(seconds: number) {
  vi.setSystemTime(START + seconds * 1_000);
}

/** Stops the clock and the timers at a time after the start. */
function stopAtSecond(seconds: number) {
  const toFake = ['Date', 'setTimeout', 'clearTimeout'] as const;
  vi.useFakeTimers({ toFake: [...toFake], now: START + seconds * 1_000 });
}

/** Renames the listing, and changes the version as an import or a rewind does. */
async function turnInto(name: string, added: number, generation = '') {
  const sql = `UPDATE database_identity SET catalogue_number = catalogue_number + ?,
    catalogue_import = 'other', generation = coalesce(nullif(?, ''), generation)`;
  const rename = `UPDATE properties SET document = json_set(document, '$.name', ?) WHERE slug = ?`;
  await env.DB.batch([
    env.DB.prepare(sql).bind(added, generation),
    env.DB.prepare(rename).bind(name, slug),
  ]);
}
const rename = (name: string) => turnInto(name, 1);

type Sent = { path?: string; headers?: Record<string, string> };

/** Makes an isolate that counts its round trips to D1, and the rows that they read. */
function isolate(settings: Partial<Env> = {}) {
  const app = createApp();
  const costs = { ...NOTHING };
  /** Does not wait for the work after the response. */
  function send(changes: Partial<Env> = {}, { path = `${LIST}/${slug}`, headers }: Sent = {}) {
    const { DB } = counting({ ...env, ...changes }, costs).env;
    const bindings = { FEED_CACHE_SECONDS: '60', ...settings, ...changes, DB };
    const init = { headers: { 'CF-Connecting-IP': freshAddress(), ...headers } };
    return callWith(bindings, `https://${host}${path}`, init, app);
  }
  /** Waits for all work. */
  async function get(changes: Partial<Env> = {}, sent: Sent = {}): Promise<Response> {
    const { response, settled } = await send(changes, sent);
    await settled;
    return response;
  }
  /** Returns the name in the response, and the caches that it came from. */
  async function read(changes: Partial<Env> = {}): Promise<string> {
    return describeResponse(await get(changes));
  }
  return { costs, send, get, read };
}

async function describeResponse(response: Response): Promise<string> {
  await expectStatus(response, 200);
  const { name } = await response.json<{ name: string }>();
  const age = response.headers.get('Age');
  return `${name}: ${response.headers.get('Cache-Status')}${age === null ? '' : `, Age ${age}`}`;
}

/**
 * Returns a database that responds once it is opened. `called` is fulfilled with its first call.
 */
function stalling() {
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const DB = tapD1(gatedD1(env.DB, gate.promise), (call) => {
    called.resolve();
    return call();
  });
  return { DB, open: gate.resolve, called: called.promise };
}

/**
 * The lines about D1. The moved clock may also end a real call of the edge cache, which has another
 * line.
 */
const faultsOfD1 = () =>
  faultLog.mock.calls.filter(([line]) => String(line).includes('D1 failed or stalled'));

describe('a cached response', () => {
  it.each([
    [
      '3600',
      0,
      'runs',
      'Before: isolate; hit; ttl=60',
      'Before: edge; hit; ttl=60, isolate; fwd=miss',
    ],
    [
      '3600',
      59.999,
      'fails',
      'Before: isolate; hit; ttl=0',
      'Before: edge; hit; ttl=0, isolate; fwd=miss',
    ],
    [
      '3600',
      60,
      'runs',
      'After: edge; fwd=stale, isolate; fwd=stale',
      'After: edge; fwd=stale, isolate; fwd=miss',
    ],
    [
      '3600',
      61,
      'fails',
      'Before: isolate; hit; ttl=-1; detail=failed, Age 61',
      'Before: edge; hit; ttl=-1; detail=failed, isolate; fwd=miss, Age 61',
    ],
    [
      '3600',
      3_600,
      'fails',
      'Before: isolate; hit; ttl=-3540; detail=failed, Age 3600',
      'Before: edge; hit; ttl=-3540; detail=failed, isolate; fwd=miss, Age 3600',
    ],
    ['3600', 3_601, 'fails', '500', '500'],
    ['0', 60, 'fails', '500', '500'],
  ])(
    'with FEED_STALE_SECONDS=%s, %d s after its check, while D1 %s: from memory %s, from the edge %s',
    async (FEED_STALE_SECONDS, age, d1, ...expected) => {
      for (const [index, outcome] of expected.entries()) {
        host = `${crypto.randomUUID()}.example.com`;
        await rename('Before');
        atSecond(0);
        const one = isolate({ FEED_STALE_SECONDS });
        await one.read();
        await rename('After');
        atSecond(age);
        const asked = index === 0 ? one : isolate({ FEED_STALE_SECONDS });
        const response = await asked.get(d1 === 'fails' ? FAILING : {});
        if (outcome === '500') await expectError(response, 500, 'internal_error');
        else expect(await describeResponse(response)).toBe(outcome);
      }
    },
  );

  it('is served for as long as its version is the same: one row per isolate is read for all pages', async () => {
    const paths = [LIST, `${LIST}/${slug}?locale=en`, '/api/v1/web/locations'];
    for (const path of paths) await one.get({}, { path });
    Object.assign(one.costs, NOTHING);
    for (let second = 46; second < 1_000; second += 46) {
      atSecond(second);
      for (const path of paths)
        expect((await one.get({}, { path })).headers.get('Cache-Status')).toMatch(/^isolate; hit/);
    }
    expect(one.costs).toMatchObject({ d1RoundTrips: 21, d1RowsRead: 21 });
    // A new isolate has the check from the edge cache.
    atSecond(1_000);
    const other = isolate();
    for (const path of paths) await other.get({}, { path });
    expect(other.costs.d1RoundTrips).toBe(0);
  });

  it('whose check has ended is served for two rows of D1, while its version is the same', async () => {
    await one.get({}, { path: LIST });
    Object.assign(one.costs, NOTHING);
    atSecond(61);
    await expectStatus(await one.get({}, { path: LIST }), 200);
    expect(one.costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 2 });
    await rename('After');
    Object.assign(one.costs, NOTHING);
    atSecond(122);
    const changed = await one.get({}, { path: LIST });
    expect(await changed.text()).toContain('"After"');
    expect(one.costs).toMatchObject({ d1RoundTrips: 1 });
  });

  it('is read again once when the renewed check finds an import', async () => {
    await one.get({}, { path: LIST });
    await rename('After');
    for (const [second, reads, expected] of [
      [44.999, 2, 'Before: isolate; hit; ttl=15'],
      [45, 3, 'Before: isolate; hit; ttl=15'],
      [45, 4, 'After: edge; fwd=stale, isolate; fwd=stale'],
      [45, 4, 'After: isolate; hit; ttl=60'],
    ] as const) {
      atSecond(second);
      expect(await one.read()).toBe(expected);
      expect(one.costs.d1RoundTrips).toBe(reads);
    }
    const list = await one.get({}, { path: LIST });
    expect(await list.text()).toContain('After');
  });

  it('has its check renewed by one request at a time', async () => {
    atSecond(50);
    const { DB, open } = stalling();
    const sent = await Promise.all(Array.from({ length: 10 }, () => one.send({ DB })));
    open();
    await Promise.all(sent.map(({ settled }) => settled));
    expect(one.costs.d1RoundTrips).toBe(2);
  });

  it('has its check renewed again some seconds after a failure', async () => {
    for (const [second, reads] of [
      [45, 2],
      [50, 2],
      [51, 3],
    ] as const) {
      atSecond(second);
      expect(await one.read(FAILING)).toMatch(/^Before: isolate; hit/);
      expect(one.costs.d1RoundTrips).toBe(reads);
    }
  });

  it('is shared by equal requests, and by no others', async () => {
    const first = await one.get(
      {},
      { path: `${LIST}?status=listed,sold_out&limit=2&utm_source=a` },
    );
    const same = await one.get(FAILING, { path: `${LIST}?limit=2&status=sold_out,listed` });
    expect(same.headers.get('ETag')).toBe(first.headers.get('ETag'));
    for (const other of ['?limit=2', '?limit=3&status=listed,sold_out', '/no-such-home']) {
      const response = await one.get(FAILING, { path: `${LIST}${other}` });
      await expectError(response, 500, 'internal_error');
    }
  });

  it('is a 304 without a read of D1, from memory and from the edge', async () => {
    const etag = (await one.get()).headers.get('ETag') ?? '';
    for (const [again, sent] of [
      [one, etag],
      [isolate(), `"other", W/${etag}`],
      [isolate(), etag.replace(/"$/, '-gzip"')],
      [isolate(), etag.replace(/"$/, ';gzip"')],
      [isolate(), etag.replace(/"$/, '-br"')],
      [one, '*'],
    ] as const) {
      const response = await again.get(FAILING, { headers: { 'If-None-Match': sent } });
      await expectStatus(response, 304);
      expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
      expect(response.headers.get('ETag')).toBe(etag);
      expect(response.headers.get('Cache-Control')).toBe('private, max-age=0, must-revalidate');
      expect(response.headers.get('RateLimit')).toBe(`"default";r=99;t=${WINDOW_SECONDS}`);
      expect(await response.text()).toBe('');
    }
  });

  it('is used for no other site address', async () => {
    const moved = await isolate({ PUBLIC_SITE_URL: 'https://new.example.com/' }).get();
    const { url } = await moved.json<{ url: string }>();
    expect(url).toBe(`https://new.example.com/listings/${slug}`);
  });

  it('of a missing listing is a 404 until an import publishes the listing', async () => {
    const path = `${LIST}/${slug}-new`;
    for (const reader of [one, one, isolate()]) {
      await expectError(await reader.get({}, { path }), 404, 'resource_missing');
      expect(reader.costs.d1RoundTrips).toBe(reader === one ? 2 : 0);
    }
    atSecond(61);
    await expectError(await one.get(FAILING, { path }), 500, 'internal_error');
    await storeListings(env.DB, [sourceOf({ slug: `${slug}-new` })]);
    atSecond(67);
    // The isolate learns the version by another page.
    await one.read();
    await expectStatus(await one.get({}, { path }), 200);
  });

  it('that is larger than a sixteenth of the memory is cached at the edge only', async () => {
    const one = isolate({ FEED_MEMORY_BYTES: '10000' });
    await one.read();
    expect(await one.read()).toBe('Before: edge; hit; ttl=60, isolate; fwd=miss');
    const large = isolate({ FEED_MEMORY_BYTES: '100000' });
    await large.read();
    expect(await large.read()).toBe('Before: isolate; hit; ttl=60');
  });

  it('does not exist if FEED_CACHE_SECONDS is 0', async () => {
    const one = isolate({ FEED_CACHE_SECONDS: '0' });
    await one.read();
    await rename('After');
    expect(await one.read()).toBe('After: edge; fwd=bypass, isolate; fwd=bypass');
    await expectError(await one.get(FAILING), 500, 'internal_error');
  });
});

/** Returns a database whose replica has none of the changes after this call. */
async function laggingReplica(): Promise<D1Database> {
  const recorded: D1Result[][] = [];
  const recording = tapD1(env.DB, async (call) => {
    recorded.push(await call());
    return recorded.at(-1) ?? [];
  });
  await isolate().get({ DB: recording }, { path: `${LIST}/${slug}?fresh=true` });
  return tapD1(env.DB, async (call, constraint) =>
    constraint === 'first-primary' ? call() : (recorded[0] ?? []),
  );
}

describe('an older version', () => {
  it('is stale at once', async () => {
    await one.read();
    await rename('After');
    await one.get({}, { path: `${LIST}?fresh=true` });
    expect(await one.read(FAILING)).toBe('Before: isolate; hit; ttl=-1; detail=failed, Age 0');
  });

  it.each(['this', 'another'])(
    'read late by %s isolate replaces no newer response',
    async (which) => {
      const gate = Promise.withResolvers<void>();
      const called = Promise.withResolvers<void>();
      const DB = tapD1(env.DB, async (call) => {
        const results = await call();
        called.resolve();
        await gate.promise;
        return results;
      });
      const reader = which === 'this' ? one : isolate();
      const late = reader.get({ DB }, { path: `${LIST}/${slug}?fresh=true` });
      await called.promise;
      await rename('After');
      await one.get({}, { path: `${LIST}/${slug}?fresh=true` });
      gate.resolve();
      await late;
      for (const again of [one, isolate()])
        expect(await again.read(FAILING)).toMatch(/^After: .*hit; ttl=60/);
    },
  );

  it.each([
    ['an import', 1, undefined],
    ['a rewind', -100, 'another'],
  ])('of a replica without %s is read again at the primary', async (_, added, generation) => {
    await rename('Between');
    const DB = await laggingReplica();
    await turnInto('After', added, generation);
    await one.get({ DB }, { path: `${LIST}/${slug}?fresh=true` });
    for (const second of [50, 60, 200]) {
      atSecond(second);
      expect(await one.read({ DB })).toMatch(/^After/);
    }
    expect(faultsOfD1()).toEqual([]);
  });

  it.each([
    ['the same number again', 0, undefined],
    ['a smaller number', -1, undefined],
    ['another generation', -100, 'another'],
  ])('comes back with a rewind, and the later state does not: %s', async (_, added, generation) => {
    atSecond(30);
    await one.read();
    await turnInto('Rewound', added, generation);
    for (const second of [61, 107]) {
      atSecond(second);
      for (const reader of [one, isolate(), one]) expect(await reader.read()).toMatch(/^Rewound/);
    }
  });
});

describe('an entry of the edge cache', () => {
  it('is not served by another version of the Worker', async () => {
    const deployed = (id: string) =>
      isolate({ CF_VERSION_METADATA: { id, tag: '', timestamp: '2030-01-01T00:00:00Z' } });
    const [bad, good, again] = [deployed('bad'), deployed('good'), deployed('bad')];
    await bad.read();
    // The version of the catalogue stays: only the Worker makes another response.
    const sql = `UPDATE properties SET document = json_set(document, '$.name', 'Good') WHERE slug = ?`;
    await env.DB.prepare(sql).bind(slug).run();
    expect(await good.read()).toBe('Good: edge; fwd=miss, isolate; fwd=miss');
    expect(await again.read()).toBe('Before: edge; hit; ttl=60, isolate; fwd=miss');
  });

  it('has one body for ever, unlike the shared check', async () => {
    const bodies = new Map<string, Set<string>>();
    const edge = caches.default;
    const put = edge.put.bind(edge);
    const spy = vi.spyOn(edge, 'put').mockImplementation(async (address, entry) => {
      const text = await entry.clone().text();
      bodies.set(String(address), (bodies.get(String(address)) ?? new Set()).add(text));
      await put(address, entry);
    });
    for (const name of ['First', 'Second', 'Third']) {
      const gate = Promise.withResolvers<void>();
      const late = isolate().get({ DB: gatedD1(env.DB, gate.promise) });
      await turnInto(name, 1);
      await one.get({}, { path: `${LIST}/${slug}?fresh=true` });
      gate.resolve();
      await late;
      await isolate().read();
    }
    spy.mockRestore();
    const entries = [...bodies].filter(([address]) => !address.endsWith('known%20'));
    expect(entries.length).toBeGreaterThanOrEqual(3);
    for (const [address, texts] of entries) expect([address, texts.size]).toEqual([address, 1]);
  });
});

describe('a clock that jumps', () => {
  it('backwards ends a check, and forwards too', async () => {
    await rename('After');
    atSecond(-7_200);
    expect(await one.read()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
    expect(await one.read()).toBe('After: isolate; hit; ttl=60');
    await rename('Later');
    atSecond(7_200);
    expect(await one.read()).toMatch(/^Later: edge; fwd=stale/);
    expect(await one.read()).toBe('Later: isolate; hit; ttl=60');
  });

  it('backwards ends the pause after a fault', async () => {
    await rename('After');
    atSecond(61);
    await one.read(FAILING);
    atSecond(-7_200);
    expect(await one.read()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
  });
});

it('stale responses are served at once for 5 s after a fault, with one line in the log', async () => {
  await rename('After');
  atSecond(61);
  await one.read(FAILING);
  for (const second of [61, 65.999]) {
    atSecond(second);
    const age = Math.floor(second);
    expect(await one.read()).toBe(
      `Before: isolate; hit; ttl=${60 - Math.ceil(second)}; detail=failed, Age ${age}`,
    );
  }
  expect(one.costs.d1RoundTrips).toBe(2);
  await one.get(FAILING, { path: `${LIST}/${slug}?fresh=true` });
  expect(faultsOfD1()).toHaveLength(1);
  atSecond(71);
  await one.read(FAILING);
  expect(faultsOfD1()).toHaveLength(2);
  atSecond(76);
  expect(await one.read()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
});

describe('while D1 is slow or stalls', () => {
  /**
   * Reads from a D1 that stalls at a time after the start. Returns what is served, which takes
   * exactly so long.
   */
  async function readStalling(second: number, ms: number) {
    stopAtSecond(second);
    const { DB, called, open } = stalling();
    let served: string | undefined;
    const sending = one.send({ DB }).then(async ({ response }) => {
      served = await describeResponse(response);
    });
    await called;
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(served).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await sending;
    return { served, DB, open };
  }

  it.each([
    // Five minutes stale when D1 is slow, and a millisecond more.
    [359.7, 300, 'detail=slow, Age 360'],
    [359.701, 2_000, 'detail=failed, Age 361'],
  ])('a response %d s old is served after %d ms, and the read continues', async (age, ms, text) => {
    await rename('After');
    const { served, open } = await readStalling(age, ms);
    expect(served).toContain(text);
    open();
    await vi.waitFor(async () => expect(await one.read()).toMatch(/^After: isolate; hit/));
  });

  it('a stall is a fault: any stale response is served at once for 5 s, and after 300 ms for a minute', async () => {
    const { DB } = await readStalling(3_000, 2_000);
    expect(faultsOfD1()).toHaveLength(1);
    // The timers stand still: no request waits for D1.
    await one.send({ DB });
    expect(one.costs.d1RoundTrips).toBe(2);
    expect((await readStalling(3_010, 300)).served).toContain('Age 3010');
    expect((await readStalling(3_063, 2_000)).served).toContain('Age 3065');
  });
});

it('a read of two slow calls gets a 500 with Retry-After in 5 s', async () => {
  const missing = { path: `${LIST}/none-${slug}` };
  const replica = await laggingReplica();
  await rename('After');
  await one.get({}, { path: `${LIST}/${slug}?fresh=true` });
  stopAtSecond(61);
  const called = Promise.withResolvers<void>();
  // The replica lacks the known version: the read is repeated at the primary.
  const DB = tapD1(replica, async (call) => {
    called.resolve();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    return call();
  });
  let response: Response | undefined;
  const sending = one.send({ DB }, missing).then((sent) => {
    ({ response } = sent);
  });
  await called.promise;
  await vi.advanceTimersByTimeAsync(4_999);
  expect(response).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await sending;
  await expectError(response ?? new Response(), 500, 'internal_error');
  expect(response?.headers.get('Retry-After')).toBe('2');
});

it('an edge cache that takes more than 20 ms is used if D1 stalls or fails', async () => {
  await isolate().read();
  for (const isFailing of [false, true]) {
    stopAtSecond(30);
    const edge = Promise.withResolvers<void>();
    const delayed = tapMethods(caches.default, async (call) => {
      await edge.promise;
      return call();
    });
    vi.spyOn(caches, 'default', 'get').mockReturnValue(delayed);
    const { DB, called } = stalling();
    const sending = isolate().send(isFailing ? FAILING : { DB });
    await vi.advanceTimersByTimeAsync(20);
    if (!isFailing) await called;
    edge.resolve();
    await vi.advanceTimersByTimeAsync(300);
    const { response } = await sending;
    expect(await describeResponse(response)).toBe('Before: edge; hit; ttl=29, isolate; fwd=miss');
    vi.restoreAllMocks();
  }
});

it('an edge cache that never responds delays the response of a D1 that fails by a second', async () => {
  stopAtSecond(30);
  const silent = tapMethods(caches.default, () => new Promise(() => {}));
  vi.spyOn(caches, 'default', 'get').mockReturnValue(silent);
  const sending = isolate().send(FAILING);
  await vi.advanceTimersByTimeAsync(1_000);
  await expectError((await sending).response, 500, 'internal_error');
});

describe('fresh=true', () => {
  it('shows an import at once, and the requests after it show it too', async () => {
    await one.read();
    const DB = await laggingReplica();
    await rename('After');
    const fresh = await one.get({ DB }, { path: `${LIST}/${slug}?fresh=true` });
    expect(await describeResponse(fresh)).toBe('After: edge; fwd=request, isolate; fwd=request');
    expect(await one.read()).toBe('After: isolate; hit; ttl=60');
  });

  it('gets no stale response', async () => {
    const failed = await one.get(FAILING, { path: `${LIST}/${slug}?fresh=true` });
    await expectError(failed, 500, 'internal_error');
  });

  it('is true or false in any case, 1 or 0, and fresh=false reads the caches', async () => {
    const path = `${LIST}/${slug}?fresh`;
    const response = await one.get({}, { path: `${path}=yes` });
    expect((await expectError(response, 400, 'validation_error')).param).toBe('fresh');
    for (const sent of ['true', 'True', '1']) {
      const read = await one.get({}, { path: `${path}=${sent}` });
      expect(read.headers.get('Cache-Status')).toBe('edge; fwd=request, isolate; fwd=request');
    }
    await one.read();
    for (const sent of ['false', 'FALSE', '0']) {
      const cached = await one.get(FAILING, { path: `${path}=${sent}` });
      expect(await describeResponse(cached)).toBe('Before: isolate; hit; ttl=60');
    }
  });
});

it('the log has the source of each response', async () => {
  await one.read();
  await isolate().read();
  atSecond(61);
  await one.read(FAILING);
  const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)).cache);
  expect(lines).toEqual(['database', 'memory', 'edge', 'stale']);
});
