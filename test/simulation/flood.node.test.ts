/**
 * A client that meets the isolates some seconds apart, and sends its burst at the end of each
 * isolate's window (docs/reference/conventions.md, "Rate limits").
 */

import { beforeAll, describe, expect, it } from 'vitest';
import { bundleSource } from './bundle.ts';
import { Random } from './random.ts';
import { floodOf } from './rate-limit.ts';
import { run } from './simulation.ts';
import { Fleet } from './world.ts';

const LIMIT = 100;
const MINUTES = 6;
const TIMEOUT_MS = 600_000;

let fleet: Fleet;
beforeAll(async () => {
  fleet = new Fleet(await bundleSource());
});

/** Returns the limits that pass in a minute. */
async function floodBy(isolates: number, apartMs: number): Promise<number> {
  const part = (seed: string) => ({
    seed,
    machines: Array.from({ length: isolates }, () => ({ clockOffset: 0, place: 'Madrid' })),
    vars: { RATE_LIMIT_DEFAULT: String(LIMIT) },
    operations: floodOf(new Random(seed), { isolates, apartMs, burst: 130, minutes: MINUTES }),
    isSwift: true,
    endMs: (MINUTES + 2) * 60_000,
    violationsIn: () => [],
  });
  const { world } = await run(part, fleet, `flood by ${isolates}, ${apartMs} ms apart`);
  return world.exchanges.filter(({ status }) => status === 200).length / LIMIT / MINUTES;
}

it(
  'a client of one isolate gets exactly its limit in each window',
  async () => {
    expect(await floodBy(1, 0)).toBe(1);
  },
  TIMEOUT_MS,
);

describe.each([1_000, 5_000, 10_000])('windows that begin %i ms apart', (apartMs) => {
  it.each([
    [2, 1.35],
    [3, 1.5],
    [5, 2],
  ])(
    'of %i isolates let at most %f limits a minute pass',
    async (isolates, most) => {
      const limits = await floodBy(isolates, apartMs);
      expect(limits).toBeGreaterThanOrEqual(1);
      expect(limits).toBeLessThanOrEqual(most);
    },
    TIMEOUT_MS,
  );
});
