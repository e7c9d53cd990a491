/** What an isolate holds of a client's window: answers in any order, and what it asks for. */

import { describe, expect, it } from 'vitest';
import { Pool } from '../../src/rate-limit/pool.ts';
import { Pools } from '../../src/rate-limit/pools.ts';

const T0 = 1_800_000_000_000;
const lease = (granted: number, left: number, resetMs = 60_000, window = 1) => ({
  granted,
  left,
  resetMs,
  window,
});

/** Makes a pool of a limit of 100 that has been answered with these leases at once. */
function poolWith(...leases: ReturnType<typeof lease>[]) {
  const pool = new Pool(100);
  for (const each of leases) pool.end(pool.begin(10, T0), each, T0);
  return pool;
}

/** Spends until nothing is held. Returns what remained after each. */
function spendAll(pool: Pool, now = T0): number[] {
  const told: number[] = [];
  for (;;) {
    const count = pool.count(now);
    if (count?.outcome !== 'allowed') return told;
    told.push(count.remaining);
  }
}

describe('a pool', () => {
  it('adds what is granted to what it holds', () => {
    expect(spendAll(poolWith(lease(4, 96), lease(3, 93)))).toEqual([99, 98, 97, 96, 95, 94, 93]);
  });

  it('refuses at once when the window is full and nothing is held', () => {
    const pool = poolWith(lease(2, 0));
    expect(spendAll(pool)).toEqual([1, 0]);
    expect(pool.count(T0 + 10_000)).toEqual({
      outcome: 'refused',
      limit: 100,
      remaining: 0,
      resetMs: 50_000,
    });
    expect(pool.count(T0 + 60_000)).toBeUndefined();
  });

  it('refuses nobody while a call that may bring something is under way', () => {
    const pool = poolWith(lease(4, 10));
    spendAll(pool);
    const slow = pool.begin(2, T0);
    // The answer of a later call overtakes that of the first one.
    pool.end(pool.begin(8, T0), lease(0, 0), T0);
    expect(pool.count(T0)).toBeUndefined();
    pool.end(slow, lease(2, 8), T0);
    expect(spendAll(pool)).toEqual([1, 0]);
    expect(pool.count(T0)?.outcome).toBe('refused');
  });

  it('ends with its window, counted from when the call was sent', () => {
    const pool = new Pool(100);
    const call = pool.begin(4, T0);
    pool.end(call, lease(4, 96, 5_000), T0 + 700);
    expect(pool.count(T0 + 4_999)?.outcome).toBe('allowed');
    expect(pool.count(T0 + 5_000)).toBeUndefined();
  });

  it('tells a reset that is never too short', () => {
    const pool = new Pool(100);
    const call = pool.begin(4, T0);
    pool.end(call, lease(4, 96, 5_000), T0 + 700);
    expect(pool.count(T0 + 1_000)?.resetMs).toBe(4_700);
  });

  it('drops what it holds of a window that the object has forgotten', () => {
    const pool = poolWith(lease(4, 96, 30_000, 1));
    pool.end(pool.begin(10, T0), lease(4, 96, 60_000, 2), T0);
    expect(spendAll(pool)).toEqual([99, 98, 97, 96]);
  });

  it('ignores a late answer about a window before its own', () => {
    const pool = new Pool(100);
    const late = pool.begin(4, T0);
    pool.end(pool.begin(4, T0 + 1_000), lease(4, 96, 60_000, 2), T0 + 1_000);
    pool.end(late, lease(4, 96, 20_000, 1), T0 + 1_100);
    expect(spendAll(pool, T0 + 1_100)).toEqual([99, 98, 97, 96]);
  });

  it('keeps all that calls bring, also more than it would ask for: it is debited', () => {
    expect(spendAll(poolWith(lease(9, 80), lease(9, 71)))).toHaveLength(18);
  });

  it('asks for no more than makes a tenth of the limit with what is held and on its way', () => {
    const pool = poolWith(lease(10, 86));
    for (let count = 0; count < 9; count += 1) pool.count(T0);
    const wanted = pool.wantedInAdvance(T0);
    pool.begin(wanted, T0);
    expect([wanted, pool.wantedInAdvance(T0)]).toEqual([9, 0]);
  });
});

describe('what is asked for in advance', () => {
  it.each([
    ['nothing while a first lease lasts', [lease(4, 96)], 3, 0],
    ['a lease when a first one is spent', [lease(4, 96)], 4, 10],
    ['nothing while more than the reserve is held', [lease(10, 86)], 8, 0],
    ['what makes a tenth of the limit', [lease(10, 86)], 9, 9],
    ['the last ones early, for each is small', [lease(10, 7)], 1, 1],
    ['nothing when nothing is left', [lease(10, 0)], 9, 0],
  ])('is %s', (_, leases, spent, wanted) => {
    const pool = poolWith(...leases);
    for (let index = 0; index < spent; index += 1) pool.count(T0);
    expect(pool.wantedInAdvance(T0)).toBe(wanted);
  });

  it('is asked for earlier each time that a request has waited for a call under way', () => {
    const wanted = (timesDry: number, spent: number) => {
      const pool = poolWith(lease(10, 86));
      const call = pool.begin(1, T0);
      for (let waits = 0; waits < timesDry; waits += 1) pool.beginWaiting(T0);
      for (let waits = 0; waits < timesDry; waits += 1) pool.endWaiting();
      pool.end(call, lease(0, 86), T0);
      for (let count = 0; count < spent; count += 1) pool.count(T0);
      return pool.wantedInAdvance(T0);
    };
    expect([wanted(1, 7), wanted(1, 8)]).toEqual([0, 8]);
    expect([wanted(2, 6), wanted(2, 7)]).toEqual([0, 7]);
    // From then on the leases are halved.
    expect([wanted(3, 4), wanted(3, 5)]).toEqual([0, 5]);
    expect([wanted(9, 4), wanted(9, 9)]).toEqual([0, 5]);
  });

  it('is nothing for a second after a call has failed', () => {
    const pool = poolWith(lease(4, 96));
    spendAll(pool);
    pool.end(pool.begin(10, T0), undefined, T0);
    expect([pool.wantedInAdvance(T0 + 999), pool.wantedInAdvance(T0 + 1_000)]).toEqual([0, 10]);
  });
});

describe('what waiting requests ask for', () => {
  /** Lets requests begin to wait, one after the other, and returns what each asks for. */
  function askedBy(pool: Pool, requests: number): number[] {
    const asked: number[] = [];
    for (let request = 0; request < requests; request += 1) {
      pool.beginWaiting(T0);
      const wanted = pool.wantedNow(0, T0);
      asked.push(wanted);
      if (wanted > 0) pool.begin(wanted, T0);
    }
    return asked;
  }

  it('is no more calls than bring what they need', () => {
    const asked = askedBy(new Pool(100), 300).filter((wanted) => wanted > 0);
    expect(asked).toEqual([4, 10, 10, 10, 10, 10, 10, 9, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1]);
  });

  it.each([
    ['when a call takes 100 ms', 20, 100],
    ['after 100 looks, should the clock stand still', 100, 0],
  ])('is a call of their own %s', (_, looks, milliseconds) => {
    const pool = poolWith(lease(4, 96));
    spendAll(pool);
    expect(askedBy(pool, 2)).toEqual([10, 0]);
    expect(pool.wantedNow(looks - 1, T0 + Math.max(0, milliseconds - 1))).toBe(0);
    expect(pool.wantedNow(looks, T0 + milliseconds)).toBeGreaterThan(0);
  });

  it('is half a lease beside a call under way, once the client is faster than its leases', () => {
    const pool = poolWith(lease(4, 90));
    spendAll(pool);
    pool.begin(5, T0);
    pool.beginWaiting(T0);
    expect(pool.wantedBeside(T0 + 8)).toBe(0);
    for (let waits = 0; waits < 2; waits += 1) {
      pool.endWaiting();
      pool.beginWaiting(T0);
    }
    expect([pool.wantedNow(1, T0 + 8), pool.wantedBeside(T0 + 8)]).toEqual([0, 5]);
    // Less than three is not worth a call.
    pool.begin(4, T0);
    expect(pool.wantedBeside(T0 + 8)).toBe(0);
  });
});

describe('the pause of a waiting request', () => {
  it('is half the time until the oldest call is expected to end, and half of what it is overdue', () => {
    const pool = new Pool(100);
    pool.begin(10, T0);
    pool.begin(10, T0 + 2);
    const pauses = [0, 4, 9, 10, 14, 50, 900].map((after) => pool.pauseMs(T0 + after));
    // A call is expected to take 10 ms.
    expect(pauses).toEqual([5, 3, 1, 1, 2, 20, 50]);
  });

  it('follows what the calls of the isolate take', () => {
    const pools = new Pools();
    const slow = pools.of('default', 'slow', 100);
    slow.end(slow.begin(4, T0), lease(4, 96), T0 + 50);
    const other = pools.of('default', 'other', 100);
    other.begin(4, T0);
    expect(other.pauseMs(T0)).toBe(10);
  });
});

it('pools are bounded in number, and the one that was not asked for the longest goes first', () => {
  const pools = new Pools();
  const [first, second] = ['first', 'second'].map((client) => pools.of('default', client, 100));
  for (let client = 0; client < 9_998; client += 1) pools.of('default', String(client), 100);
  expect(pools.of('default', 'first', 100)).toBe(first);
  pools.of('default', 'one more', 100);
  expect(pools.of('default', 'first', 100)).toBe(first);
  expect(pools.of('default', 'second', 100)).not.toBe(second);
});
