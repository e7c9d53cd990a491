/** The sizes of leases (docs/explain/architecture.md). That their sum is never above the limit is tried from outside too. */

import { describe, expect, it } from 'vitest';
import {
  firstLease,
  grant,
  largestLease,
  nextLease,
  windowAt,
} from '../../src/rate-limit/lease.ts';

const T0 = 1_800_000_000_000;

describe('the size of a lease', () => {
  it.each([
    [1, 1, 1],
    [20, 1, 2],
    [49, 1, 4],
    [100, 4, 10],
    [200, 8, 20],
    [2_147_483_647, 85_899_345, 214_748_364],
  ])('of a limit of %d is %d at first, and %d at most', (limit, first, largest) => {
    expect([firstLease(limit), largestLease(limit)]).toEqual([first, largest]);
    expect(nextLease(limit, limit)).toBe(first);
  });

  it.each([
    [96, 10],
    [40, 10],
    [39, 9],
    [8, 2],
    [7, 1],
    [1, 1],
    [0, 0],
    [-3, 0],
  ])('with %d of 100 requests left is %d: at most a quarter of them', (left, size) => {
    expect(nextLease(100, left)).toBe(size);
  });
});

describe('a grant', () => {
  it.each([1, 2, 3, 7, 10, 24, 25, 26, 99, 100, 101, 200, 1_000])(
    'after another adds up to a limit of %d, exactly',
    (limit) => {
      let { window, lease } = grant({ startedAt: T0, hits: 0 }, limit, limit, T0);
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

  it('is empty above a lowered limit', () => {
    const { lease } = grant({ startedAt: T0, hits: 150 }, 100, 10, T0 + 1);
    expect(lease).toEqual({ granted: 0, left: 0, resetMs: 59_999, window: T0 });
  });
});

describe('the window that counts', () => {
  const own = { startedAt: T0, hits: 14 };
  const remembered = { startedAt: T0 - 20_000, hits: 4 };

  it.each([
    ['is the own one', 59_999, own],
    ['is new when both are over', 60_000, { startedAt: T0 + 60_000, hits: 0 }],
    ['is new before a clock that was set back', -80_000, { startedAt: T0 - 80_000, hits: 0 }],
  ])('%s', (_, afterMs, window) => {
    expect(windowAt(T0 + afterMs, own, remembered)).toEqual(window);
  });

  it('is the remembered window where the own one is forgotten or over, until it is over too', () => {
    const over = { startedAt: T0 - 70_000, hits: 100 };
    expect(windowAt(T0 + 39_999, undefined, remembered)).toEqual(remembered);
    expect(windowAt(T0, over, remembered)).toEqual(remembered);
    expect(windowAt(T0 + 40_000, undefined, remembered).startedAt).toBe(T0 + 40_000);
  });
});
