import { describe, expect, it } from 'vitest';
import { hit, isDueToStore, isOver } from '../../src/rate-limit/window.ts';

const T0 = 1_800_000_000_000;

describe('a hit', () => {
  it('begins the window at the first request', () => {
    expect(hit(undefined, 100, T0)).toEqual({
      window: { startedAt: T0, hits: 1 },
      count: { outcome: 'allowed', limit: 100, remaining: 99, resetMs: 60_000 },
    });
  });

  it.each([
    ['in the window', 42, 59_999, { startedAt: T0, hits: 43 }, 'allowed', 57, 1],
    ['that fills it', 99, 30_000, { startedAt: T0, hits: 100 }, 'allowed', 0, 30_000],
    ['in a full window', 100, 30_000, { startedAt: T0, hits: 100 }, 'refused', 0, 30_000],
    ['above a lowered limit', 150, 1, { startedAt: T0, hits: 150 }, 'refused', 0, 59_999],
    [
      'after a full window',
      100,
      60_000,
      { startedAt: T0 + 60_000, hits: 1 },
      'allowed',
      99,
      60_000,
    ],
    [
      'before a clock set back',
      100,
      -60_000,
      { startedAt: T0 - 60_000, hits: 1 },
      'allowed',
      99,
      60_000,
    ],
  ])('%s', (_, hits, elapsed, window, outcome, remaining, resetMs) => {
    expect(hit({ startedAt: T0, hits }, 100, T0 + elapsed)).toEqual({
      window,
      count: { outcome, limit: 100, remaining, resetMs },
    });
  });

  it('is due to be stored at every fifth, and when the window is full', () => {
    const due: number[] = [];
    let { window, count } = hit(undefined, 12, T0);
    for (; count.outcome === 'allowed'; { window, count } = hit(window, 12, T0)) {
      if (isDueToStore(window, count)) due.push(window.hits);
    }
    expect(due).toEqual([5, 10, 12]);
  });
});

it('is over after 60 seconds', () => {
  expect(isOver({ startedAt: T0, hits: 1 }, T0 + 59_999)).toBe(false);
  expect(isOver({ startedAt: T0, hits: 1 }, T0 + 60_000)).toBe(true);
});
