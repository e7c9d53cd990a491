/** No reader of a busy page waits for D1: renewal in the background, slow caches, and stalls of D1. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { property } from '../../src/properties/resource.ts';
import { CONNECTION_LOST, failingD1, gatedD1, OUT_OF_ORDER, silentD1 } from '../support/faults.ts';
import { API_KEY, expectDocumented, expectStatus, freshAddress } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';
import { type Tap, tapD1 } from '../support/tap.ts';

const LIST = '/api/v1/web/properties';
const START = Date.parse('2030-01-01T00:00:00Z');

let host = '';
let slug = '';

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  vi.spyOn(console, 'error').mockReturnValue(undefined);
  host = `${crypto.randomUUID()}.example.com`;
  slug = `home-${crypto.randomUUID().slice(0, 8)}x`;
  await storeListings(env.DB, [sourceOf({ slug, name: 'Before' })]);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function atSecond(seconds: number) {
  vi.setSystemTime(START + seconds * 1_000);
}

async function rename(name: string) {
  await env.DB.prepare(
    `UPDATE properties SET document = json_set(document, '$.name', ?) WHERE slug = ?`,
  )
    .bind(name, slug)
    .run();
}

/** Makes an isolate that counts its reads of D1. `ask` does not wait for the work after the answer. */
function isolate() {
  const app = createApp();
  const counted = { reads: 0 };
  return {
    counted,
    async ask(
      changes: Partial<Env> = {},
      path = `${LIST}/${slug}`,
      headers: Record<string, string> = {},
    ) {
      const ctx = createExecutionContext();
      const request = new Request(`https://${host}${path}`, {
        headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': freshAddress(), ...headers },
      });
      const DB = tapD1(changes.DB ?? env.DB, (call) => {
        counted.reads += 1;
        return call();
      });
      const settings = { ...env, FEED_CACHE_SECONDS: '60', ...changes, DB };
      const response = await app.fetch(request, settings, ctx);
      await expectDocumented(request, response);
      return { response, settled: waitOnExecutionContext(ctx) };
    },
    /** Asks, and waits for all work. Returns the name in the answer, and where that came from. */
    async tell(changes: Partial<Env> = {}) {
      const { response, settled } = await this.ask(changes);
      await settled;
      await expectStatus(response, 200);
      const { name } = property.parse(await response.json());
      return `${name}: ${response.headers.get('Cache-Status')}`;
    },
  };
}

/** Makes the edge cache do something else than to look an answer up. */
function edgeThat(match: Cache['match']) {
  const cache = caches.default;
  const changed = new Proxy(cache, {
    get: (target, name) => {
      if (name === 'match') return match;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  vi.spyOn(caches, 'default', 'get').mockReturnValue(changed);
}

describe('an answer past three quarters of its time', () => {
  it('is given, and renewed in the background', async () => {
    const one = isolate();
    expect(await one.tell()).toBe('Before: edge; fwd=miss, isolate; fwd=miss');
    await rename('After');
    atSecond(44.999);
    expect(await one.tell()).toBe('Before: isolate; hit; ttl=15');
    expect(one.counted.reads).toBe(1);
    atSecond(45);
    expect(await one.tell()).toBe('Before: isolate; hit; ttl=15');
    expect(one.counted.reads).toBe(2);
    expect(await one.tell()).toBe('After: isolate; hit; ttl=60');
    atSecond(89);
    expect(await one.tell()).toBe('After: isolate; hit; ttl=16');
    expect(one.counted.reads).toBe(2);
  });

  it('is renewed by one request at a time', async () => {
    const one = isolate();
    await one.tell();
    atSecond(50);
    const gate = Promise.withResolvers<void>();
    const DB = gatedD1(env.DB, gate.promise);
    const asked = await Promise.all(Array.from({ length: 10 }, () => one.ask({ DB })));
    gate.resolve();
    await Promise.all(asked.map(({ settled }) => settled));
    expect(one.counted.reads).toBe(2);
  });

  it('is taken from the edge when another isolate has renewed it', async () => {
    const [one, other] = [isolate(), isolate()];
    await one.tell();
    await other.tell();
    await rename('After');
    atSecond(46);
    await one.tell();
    expect(await other.tell()).toBe('Before: isolate; hit; ttl=14');
    expect(await other.tell()).toBe('After: isolate; hit; ttl=60');
    expect([one.counted.reads, other.counted.reads]).toEqual([2, 0]);
  });

  it('is renewed when it comes from the edge', async () => {
    await isolate().tell();
    await rename('After');
    atSecond(48);
    const other = isolate();
    expect(await other.tell()).toBe('Before: edge; hit; ttl=12, isolate; fwd=miss');
    expect(await other.tell()).toBe('After: isolate; hit; ttl=60');
  });

  it('is renewed again some seconds after a failed renewal, and never given after its time', async () => {
    const one = isolate();
    await one.tell();
    await rename('After');
    const DB = failingD1(env.DB, { when: 'before commit' });
    atSecond(45);
    expect(await one.tell({ DB })).toBe('Before: isolate; hit; ttl=15');
    atSecond(50);
    await one.tell({ DB });
    expect(one.counted.reads).toBe(2);
    atSecond(51);
    await one.tell({ DB });
    expect(one.counted.reads).toBe(3);
    atSecond(60);
    expect(await one.tell()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
  });

  it('is removed when the listing is hidden by then', async () => {
    const one = isolate();
    await one.tell();
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`).bind(slug).run();
    atSecond(45);
    await one.tell();
    const { response, settled } = await one.ask();
    await settled;
    await expectStatus(response, 404);
  });

  it('makes a page that is read every three seconds cost one read of D1 in 45 seconds', async () => {
    const one = isolate();
    await one.tell();
    for (let second = 3; second <= 120; second += 3) {
      atSecond(second);
      expect(await one.tell()).toMatch(/^Before: isolate; hit; ttl=/);
    }
    expect(one.counted.reads).toBe(3);
  });
});

/** Lets all work go on that waits for nothing from outside. */
const turn = () => new Promise((resolve) => setTimeout(resolve));

/** Returns a database that answers as `tap` does, and tells when it is asked. */
function hearing(tap: Tap<D1Result[]>) {
  const asked = Promise.withResolvers<void>();
  const DB = tapD1(env.DB, (...call) => {
    asked.resolve();
    return tap(...call);
  });
  return { DB, asked: asked.promise };
}

/** Returns a database that fails, and tells when it is asked. */
const failing = () =>
  hearing(async () => {
    throw new Error(OUT_OF_ORDER);
  });

/** Returns a database that answers once it is opened, and tells when it is asked. */
function stalling() {
  const gate = Promise.withResolvers<void>();
  const heard = hearing(async (call) => {
    await gate.promise;
    return call();
  });
  return { ...heard, open: gate.resolve };
}

/** Holds back each answer of the edge cache until `opened` is fulfilled. `read`: the service has read such an answer. */
function holdBack(opened: Promise<unknown>): { read: Promise<void> } {
  const { default: cache } = caches;
  const read = Promise.withResolvers<void>();
  edgeThat(async (...request) => {
    const found = await cache.match(...request);
    const body = await found?.arrayBuffer();
    await opened;
    if (found === undefined || body === undefined) return found;
    return Object.assign(new Response(null, found), {
      arrayBuffer: async () => {
        read.resolve();
        return body;
      },
    });
  });
  return { read: read.promise };
}

describe('an edge cache that has not answered within 20 ms', () => {
  it('is not awaited: D1 is asked beside it', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START });
    const looked = Promise.withResolvers<void>();
    edgeThat(() => {
      looked.resolve();
      return new Promise(() => {});
    });
    const one = isolate();
    const asking = one.ask();
    await looked.promise;
    await vi.advanceTimersByTimeAsync(19);
    expect(one.counted.reads).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await expectStatus((await asking).response, 200);
    expect(one.counted.reads).toBe(1);
  });

  it('gives the answer when it is faster than D1 all the same', async () => {
    await isolate().tell();
    const { DB, asked, open } = stalling();
    holdBack(asked);
    const other = isolate();
    const { response, settled } = await other.ask({ DB });
    expect(response.headers.get('Cache-Status')).toBe('edge; hit; ttl=60, isolate; fwd=miss');
    open();
    await settled;
    expect(other.counted.reads).toBe(1);
  });

  it('gives its older answer when D1 fails', async () => {
    await isolate().tell();
    atSecond(61);
    const gate = Promise.withResolvers<void>();
    holdBack(gate.promise);
    const { DB, asked } = failing();
    const asking = isolate().ask({ DB });
    await asked;
    // The failure reaches the feed before the edge cache answers.
    await turn();
    gate.resolve();
    const { response, settled } = await asking;
    await settled;
    await expectStatus(response, 200);
    expect(response.headers.get('Age')).toBe('61');
  });
});

describe('an edge cache that answers after D1', () => {
  it('gives a fresh answer when D1 has failed, to an isolate whose memory holds none', async () => {
    await isolate().tell();
    atSecond(30);
    const gate = Promise.withResolvers<void>();
    holdBack(gate.promise);
    const { DB, asked } = failing();
    const telling = isolate().tell({ DB, FEED_MEMORY_BYTES: '0' });
    await asked;
    await turn();
    gate.resolve();
    expect(await telling).toBe('Before: edge; hit; ttl=30, isolate; fwd=miss');
  });

  it('does not bring back a listing that is missing in D1', async () => {
    await isolate().tell();
    await env.DB.prepare(`UPDATE properties SET status = 'hidden' WHERE slug = ?`).bind(slug).run();
    const gate = Promise.withResolvers<void>();
    const { read } = holdBack(gate.promise);
    const one = isolate();
    const { response, settled } = await one.ask();
    await expectStatus(response, 404);
    await settled;
    gate.resolve();
    await read;
    await turn();
    const again = await one.ask();
    await again.settled;
    await expectStatus(again.response, 404);
  });
});

describe('a stall of D1', () => {
  /** Stops the clock and the timers at a time after the start. */
  function stopAtSecond(seconds: number) {
    const toFake = ['Date', 'setTimeout', 'clearTimeout'] as const;
    vi.useFakeTimers({ toFake: [...toFake], now: START + seconds * 1_000 });
  }

  it('makes an older answer be given after 300 ms, and the answer that comes at last is cached', async () => {
    const one = isolate();
    await one.tell();
    await rename('After');
    stopAtSecond(61);
    const { DB, open, asked } = stalling();
    let isAnswered = false;
    const asking = one.ask({ DB }).finally(() => {
      isAnswered = true;
    });
    await asked;
    await vi.advanceTimersByTimeAsync(299);
    expect(isAnswered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const { response, settled } = await asking;
    await expectStatus(response, 200);
    expect(response.headers.get('Age')).toBe('61');
    expect(response.headers.get('Cache-Status')).toBe('edge; fwd=stale, isolate; fwd=stale');
    open();
    await settled;
    expect(await one.tell()).toBe('After: isolate; hit; ttl=59');
  });

  it('makes older answers be given at once after a read of 2 s, while one read at a time probes D1', async () => {
    const one = isolate();
    await one.tell();
    await rename('After');
    stopAtSecond(61);
    const first = stalling();
    const asking = one.ask({ DB: first.DB });
    await first.asked;
    await vi.advanceTimersByTimeAsync(2_000);
    await expectStatus((await asking).response, 200);
    expect(one.counted.reads).toBe(2);

    const second = stalling();
    for (let times = 0; times < 5; times += 1) {
      // The timers stand still: nothing waits for D1.
      const { response } = await one.ask({ DB: second.DB });
      expect(response.headers.get('Age')).toBe('63');
    }
    expect(one.counted.reads).toBe(3);

    second.open();
    first.open();
    await vi.waitFor(async () => {
      const { response } = await one.ask({ DB: failingD1(env.DB, { when: 'before commit' }) });
      expect(property.parse(await response.json()).name).toBe('After');
    });
  });

  it('is over for later requests with the first read that D1 answers in time', async () => {
    const one = isolate();
    await one.tell();
    atSecond(61);
    await one.tell({ DB: failingD1(env.DB, { when: 'before commit' }) });
    await rename('After');
    expect(await one.tell()).toBe('Before: edge; fwd=stale, isolate; fwd=stale');
    expect(await one.tell()).toBe('After: isolate; hit; ttl=60');
    atSecond(122);
    await rename('Later');
    expect(await one.tell()).toBe('Later: edge; fwd=stale, isolate; fwd=stale');
  });

  it('counts as over 5 s after the last failed read', async () => {
    const one = isolate();
    await one.tell();
    await rename('After');
    atSecond(61);
    await one.tell({ DB: failingD1(env.DB, { when: 'before commit' }) });
    atSecond(66);
    expect(await one.tell()).toBe('After: edge; fwd=stale, isolate; fwd=stale');
  });
});

describe('two requests for one answer on a cold isolate', () => {
  it('are both answered when one read of D1 hangs', async () => {
    const one = isolate();
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START });
    const hanging = one.ask({ DB: silentD1(env.DB) });
    // The read of the other request has begun, and is answered while the first one hangs.
    await vi.advanceTimersByTimeAsync(25);
    const answered = await one.ask();
    await expectStatus(answered.response, 200);
    await vi.advanceTimersByTimeAsync(6_000);
    const { response } = await hanging;
    await expectStatus(response, 200);
    expect(response.headers.get('Cache-Status')).toMatch(/^isolate; hit; ttl=5\d$/);
    expect(response.headers.has('Age')).toBe(false);
  });
});

describe('Cache-Status', () => {
  it('tells that an older answer was given', async () => {
    const one = isolate();
    await one.tell();
    atSecond(61);
    const DB = failingD1(env.DB, { when: 'before commit' });
    expect(await one.tell({ DB })).toBe('Before: edge; fwd=stale, isolate; fwd=stale');
  });

  it('tells that the caches are off', async () => {
    expect(await isolate().tell({ FEED_CACHE_SECONDS: '0' })).toBe(
      'Before: edge; fwd=bypass, isolate; fwd=bypass',
    );
  });

  it('may be read by the scripts of a listed origin', async () => {
    const origin = { Origin: 'https://www.example.com' };
    const { response, settled } = await isolate().ask({ CORS_ORIGINS: '*' }, LIST, origin);
    await settled;
    const exposed = response.headers.get('Access-Control-Expose-Headers');
    expect(exposed?.split(',')).toContain('Cache-Status');
  });

  it('is in the log as the source of the answer', async () => {
    const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
    const one = isolate();
    await one.tell();
    await one.tell();
    await isolate().tell();
    atSecond(61);
    await one.tell({ DB: failingD1(env.DB, { when: 'before commit', message: CONNECTION_LOST }) });
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)).cache);
    expect(lines).toEqual(['database', 'memory', 'edge', 'stale']);
  });
});
