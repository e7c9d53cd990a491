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

  it('holds a tenth of the limit at most when calls bring more than anybody waits for', () => {
    expect(spendAll(poolWith(lease(9, 80), lease(9, 71)))).toHaveLength(10);
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

  it('is asked for earlier once a request has waited, up to half of what may be held', () => {
    const pool = poolWith(lease(10, 86));
    for (let waits = 0; waits < 20; waits += 1) pool.raiseReserve();
    for (let spent = 0; spent < 4; spent += 1) pool.count(T0);
    expect(pool.wantedInAdvance(T0)).toBe(0);
    pool.count(T0);
    expect(pool.wantedInAdvance(T0)).toBe(5);
  });

  it('is nothing for a second after a call has failed', () => {
    const pool = poolWith(lease(4, 96));
    spendAll(pool);
    pool.end(pool.begin(10, T0), undefined, T0);
    expect([pool.wantedInAdvance(T0 + 999), pool.wantedInAdvance(T0 + 1_000)]).toEqual([0, 10]);
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
