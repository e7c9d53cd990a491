/** The promises of leasing: over several isolates, in a burst, across evictions and at the end of a window. */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { counting } from '../support/counting.ts';
import { freshAddress, sendWith } from '../support/http.ts';
import { tapObjects } from '../support/tap.ts';

const START = Date.parse('2030-01-01T00:00:00Z');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(START);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Makes an isolate that counts its calls of the counter. Its requests do no work, and return the requests left. */
function isolate(client: string, changes: Partial<Env> = {}) {
  const app = createApp();
  const counted = counting({ ...env, ...changes });
  const headers = { 'CF-Connecting-IP': client };
  return {
    get calls() {
      return counted.costs.counterCalls;
    },
    /** An answer that was not counted, because the counter took over a second, does not count as passed. */
    async send(): Promise<{ passes: boolean; remaining: number }> {
      const response = await sendWith(counted.env, '/api/none', { headers }, app);
      const remaining = response.headers.get('X-RateLimit-Remaining');
      return {
        passes: response.status === 404 && remaining !== null,
        remaining: Number(remaining),
      };
    },
  };
}

type Isolate = ReturnType<typeof isolate>;

/** Sends requests one after the other until one is refused, 200 at most. Returns how many passed. */
async function drain({ send }: Isolate): Promise<number> {
  for (let passed = 0; passed < 200; passed += 1) {
    if (!(await send()).passes) return passed;
  }
  return 200;
}

async function sendMany({ send }: Isolate, count: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, send));
  return answers.filter(({ passes }) => passes).length;
}

function objectOf(client: string) {
  return env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(client));
}

describe('a client of one isolate', () => {
  it('gets exactly its limit, and X-RateLimit-Remaining falls by one with each request', async () => {
    const one = isolate(freshAddress());
    const told: number[] = [];
    for (let sent = 0; sent < 100; sent += 1) {
      const { passes, remaining } = await one.send();
      expect(passes).toBe(true);
      told.push(remaining);
    }
    expect(told).toEqual(Array.from({ length: 100 }, (_, sent) => 99 - sent));
    expect(one.calls).toBeLessThanOrEqual(25);
    const { calls } = one;
    expect(await one.send()).toEqual({ passes: false, remaining: 0 });
    expect(one.calls).toBe(calls);
  });

  it.each([
    [3, 1],
    [4, 2],
    [10, 2],
  ])('makes for %d requests %d calls', async (count, calls) => {
    const one = isolate(freshAddress());
    for (let sent = 0; sent < count; sent += 1) await one.send();
    expect(one.calls).toBe(calls);
  });

  it('gets exactly a small limit, one request after the other and at once', async () => {
    for (const limit of [1, 2, 19]) {
      const changes = { RATE_LIMIT_DEFAULT: String(limit) };
      expect(await drain(isolate(freshAddress(), changes))).toBe(limit);
      expect(await sendMany(isolate(freshAddress(), changes), 60)).toBe(limit);
    }
  });
});

describe('a client of several isolates', () => {
  it('never gets more than its limit over all of them', async () => {
    const client = freshAddress();
    const isolates = [isolate(client), isolate(client), isolate(client)];
    const passed = await Promise.all(isolates.map((each) => sendMany(each, 60)));
    // The next requests of an isolate get the requests that it still holds.
    for (const each of isolates) passed.push(await drain(each));
    expect(passed.reduce((sum, each) => sum + each)).toBe(100);
  });

  it.each([1, 14])(
    'gets at one its limit less a tenth, when the other was sent %d requests',
    async (sent) => {
      const client = freshAddress();
      const [one, other] = [isolate(client), isolate(client)];
      for (let index = 0; index < sent; index += 1) await one.send();
      const passed = await drain(other);
      expect(passed).toBeGreaterThanOrEqual(100 - sent - 10);
      const held = 100 - sent - passed;
      expect(await drain(one)).toBe(held);
    },
  );

  it('is told by each isolate the requests that no other isolate holds', async () => {
    const client = freshAddress();
    const [one, other] = [isolate(client), isolate(client)];
    expect(await one.send()).toEqual({ passes: true, remaining: 99 });
    // The first one holds three.
    expect(await other.send()).toEqual({ passes: true, remaining: 95 });
    expect(await one.send()).toEqual({ passes: true, remaining: 98 });
  });
});

describe('the end of a window', () => {
  it('ends the leases that are held', async () => {
    const client = freshAddress();
    const one = isolate(client);
    for (let sent = 0; sent < 6; sent += 1) await one.send();
    vi.setSystemTime(START + 60_000);
    expect(await one.send()).toEqual({ passes: true, remaining: 99 });
    expect(await drain(one)).toBe(99);
  });

  it('is the same for all isolates, so that no window lets more through', async () => {
    const client = freshAddress();
    const [one, other] = [isolate(client), isolate(client)];
    await one.send();
    vi.setSystemTime(START + 59_000);
    await one.send();
    vi.setSystemTime(START + 60_000);
    expect((await drain(other)) + (await drain(one))).toBe(100);
  });
});

describe('an eviction of the object', () => {
  it('forgets nothing of a client that one isolate serves, whatever pauses it makes', async () => {
    const client = freshAddress();
    const one = isolate(client);
    let passed = 0;
    for (let burst = 0; burst < 4; burst += 1) {
      passed += await sendMany(one, 3);
      vi.setSystemTime(Date.now() + 13_000);
      // An object loses its memory after some ten seconds without a call. Only a running one can be evicted.
      await runInDurableObject(objectOf(client), () => {});
      await evictDurableObject(objectOf(client));
    }
    expect(passed).toBe(12);
    expect(passed + (await sendMany(one, 150))).toBe(100);
  });

  it('lets at most a first lease more through', async () => {
    const client = freshAddress();
    const one = isolate(client);
    await one.send();
    await evictDurableObject(objectOf(client));
    const passed = (await drain(isolate(client))) + (await drain(one));
    expect(1 + passed).toBeLessThanOrEqual(104);
  });
});

describe('a counter that fails after a lease', () => {
  it('is not missed while the isolate holds requests', async () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    let isBroken = false;
    const one = isolate(freshAddress(), {
      RATE_COUNTER: tapObjects(env.RATE_COUNTER, async (call) => {
        if (isBroken) throw new Error('out of order');
        return call();
      }),
    });
    for (let sent = 0; sent < 5; sent += 1) await one.send();
    isBroken = true;
    const told: number[] = [];
    for (let sent = 0; sent < 9; sent += 1) told.push((await one.send()).remaining);
    expect(told).toEqual([94, 93, 92, 91, 90, 89, 88, 87, 86]);
    // Then it is served uncounted.
    expect(await one.send()).toEqual({ passes: false, remaining: 0 });
  });
});
