import { describe, expect, it } from 'vitest';
import {
  firstLease,
  grant,
  isDueToStore,
  largestLease,
  nextLease,
} from '../../src/rate-limit/lease.ts';
import { isOver } from '../../src/rate-limit/window.ts';

const T0 = 1_800_000_000_000;

describe('the size of a lease', () => {
  it.each([
    [1, 1, 1],
    [9, 1, 1],
    [20, 1, 2],
    [49, 1, 4],
    [50, 2, 5],
    [100, 4, 10],
    [200, 8, 20],
    [2_147_483_647, 85_899_345, 214_748_364],
  ])('of a limit of %d is %d at first, and %d at most', (limit, first, largest) => {
    expect([firstLease(limit), largestLease(limit)]).toEqual([first, largest]);
    expect(nextLease(limit, limit)).toBe(first);
  });

  it.each([
    [96, 10],
    [43, 10],
    [40, 10],
    [39, 9],
    [16, 4],
    [15, 3],
    [8, 2],
    [7, 1],
    [1, 1],
    [0, 0],
    [-3, 0],
  ])('with %d of 100 left is %d: a quarter of what is left at most', (left, size) => {
    expect(nextLease(100, left)).toBe(size);
  });
});

describe('a grant', () => {
  it('begins the window with a first lease', () => {
    expect(grant(undefined, 100, 10, T0)).toEqual({
      window: { startedAt: T0, hits: 4 },
      lease: { granted: 4, left: 96, resetMs: 60_000, window: T0 },
    });
  });

  it.each([
    ['is no more than was asked for', 42, 3, 59_999, 45, 3, 1],
    ['is at least one', 42, 0, 59_999, 43, 1, 1],
    ['is bounded by what is left', 92, 10, 30_000, 94, 2, 30_000],
    ['fills the window', 99, 10, 30_000, 100, 1, 30_000],
    ['is none in a full window', 100, 10, 30_000, 100, 0, 30_000],
    ['is none above a lowered limit', 150, 10, 1, 150, 0, 59_999],
  ])('%s', (_, hits, wanted, elapsed, nextHits, granted, resetMs) => {
    expect(grant({ startedAt: T0, hits }, 100, wanted, T0 + elapsed)).toEqual({
      window: { startedAt: T0, hits: nextHits },
      lease: { granted, left: Math.max(0, 100 - nextHits), resetMs, window: T0 },
    });
  });

  it.each([
    ['after a full window', 60_000],
    ['before a clock set back', -60_000],
  ])('begins a window anew %s', (_, elapsed) => {
    expect(grant({ startedAt: T0, hits: 100 }, 100, 10, T0 + elapsed)).toEqual({
      window: { startedAt: T0 + elapsed, hits: 4 },
      lease: { granted: 4, left: 96, resetMs: 60_000, window: T0 + elapsed },
    });
  });

  it.each([1, 2, 3, 7, 10, 24, 25, 26, 99, 100, 101, 200, 1_000])(
    'after another adds up to a limit of %d, exactly',
    (limit) => {
      let { window, lease } = grant(undefined, limit, limit, T0);
      let granted = 0;
      for (let calls = 0; lease.granted > 0; calls += 1) {
        expect(calls).toBeLessThan(limit + 1);
        expect(lease.granted).toBeLessThanOrEqual(Math.max(1, limit / 10));
        granted += lease.granted;
        expect(lease.left).toBe(limit - granted);
        ({ window, lease } = grant(window, limit, limit, T0 + 1));
      }
      expect([granted, window.hits]).toEqual([limit, limit]);
    },
  );
});

it.each([
  [1, 100, false],
  [4, 100, false],
  [5, 100, true],
  [100, 100, true],
  [1, 1, true],
  [1, 2, false],
  [2, 2, true],
])('%d requests of %d are stored: %s', (hits, limit, isDue) => {
  expect(isDueToStore({ startedAt: T0, hits }, limit)).toBe(isDue);
});

it('a window is over after 60 seconds', () => {
  expect(isOver({ startedAt: T0, hits: 1 }, T0 + 59_999)).toBe(false);
  expect(isOver({ startedAt: T0, hits: 1 }, T0 + 60_000)).toBe(true);
});
