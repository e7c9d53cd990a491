/** Decisions about permits, from the messages that a counter gets. */

import { describe, expect, it } from 'vitest';
import {
  acquirePermit,
  addReport,
  BUCKET_MS,
  type CounterState,
} from '../../src/rate-limit/counter-arithmetic.ts';
import { Random } from '../simulation/random.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const FIRST_BUCKET = START / BUCKET_MS;
const LIMIT = 20;
/** Another isolate has used the complete limit in bucket 0. */
const BUCKET_0_IS_FULL = { other: { 0: LIMIT } };

/** Bucket, relative to the first one → number of requests. */
type Counts = Record<number, number>;
/** A request of `a` for a permit. `ms` is the time after the start of bucket 11, by the counter's clock. */
type PermitCall = { ms: number; counts: Counts; bucket: number };

/** A counter that is called at times after the start of bucket 0. */
class Counter {
  state: CounterState | undefined;

  report(atMs: number, reporter: string, counts: Counts): void {
    this.state = addReport(this.state, toReport(reporter, counts), START + atMs).nextState;
  }

  /** Requests a permit. Returns whether it is granted. */
  acquire(atMs: number, reporter: string, counts: Counts, bucket: number, limit = LIMIT): boolean {
    const permit = { span: FIRST_BUCKET + bucket, limit };
    const { isCounted, nextState } = acquirePermit(
      this.state,
      toReport(reporter, counts),
      permit,
      START + atMs,
    );
    this.state = nextState ?? this.state;
    return isCounted;
  }

  getCount(reporter: string, bucket: number): number | undefined {
    return this.state?.spans.get(FIRST_BUCKET + bucket)?.get(reporter);
  }
}

const toReport = (reporter: string, counts: Counts) => ({
  record: reporter,
  counts: new Map(
    Object.entries(counts).map(([bucket, count]) => [FIRST_BUCKET + Number(bucket), count]),
  ),
});

/** Creates a counter with the counts of reporters. */
function createCounter(reporters: Record<string, Counts>): Counter {
  const counter = new Counter();
  for (const [reporter, counts] of Object.entries(reporters)) counter.report(0, reporter, counts);
  return counter;
}

describe('a denied permit', () => {
  // Requests of bucket 11 are admitted or pending when a request of bucket 12 comes. The call with
  // `{11: 16}` was sent while the denied requests were pending, and arrives last.
  it.each<[string, PermitCall[], number[], number]>([
    [
      'after a call from the next bucket',
      [
        { ms: 4_990, counts: { 11: 6 }, bucket: 11 },
        { ms: 4_995, counts: { 11: 8 }, bucket: 11 },
        { ms: 5_010, counts: { 11: 4, 12: 1 }, bucket: 12 },
        { ms: 5_020, counts: { 11: 16 }, bucket: 11 },
      ],
      [0, 0, 1, 0],
      4,
    ],
    [
      'when the clock of the counter is almost ten seconds ahead',
      [
        { ms: 14_970, counts: { 11: 6 }, bucket: 11 },
        { ms: 15_290, counts: { 11: 16 }, bucket: 11 },
      ],
      [0, 0],
      0,
    ],
  ])('is not counted by a later permit %s', (_, calls, granted, counted) => {
    const counter = createCounter(BUCKET_0_IS_FULL);
    const decisions = calls.map(({ ms, counts, bucket }) =>
      counter.acquire(11 * BUCKET_MS + ms, 'a', counts, bucket),
    );
    expect(decisions.map(Number)).toEqual(granted);
    expect(counter.getCount('a', 11) ?? 0).toBe(counted);
  });

  it('stays denied whatever the counter gets in the meantime', () => {
    const random = new Random('permits');
    let denials = 0;
    for (let run = 0; run < 300; run += 1) {
      const counter = new Counter();
      const anyBucket = () => random.between(-2, 14);
      let atMs = 11 * BUCKET_MS + random.between(-10_000, 0);
      // A request for a permit in bucket 11 can arrive up to 300 ms after the end of the bucket, by the
      // clock of the isolate, which may be ten seconds behind.
      const lastMs = 12 * BUCKET_MS + 10_000 + 299;
      let lowest = Number.POSITIVE_INFINITY;
      for (; atMs <= lastMs; atMs += random.between(0, 2_000)) {
        const [reporter, bucket, count] = [
          random.pick(['b', 'c']),
          anyBucket(),
          random.between(0, LIMIT),
        ];
        if (random.chance(0.5)) counter.report(atMs, reporter, { [bucket]: count });
        else counter.acquire(atMs, reporter, { [bucket]: count }, bucket);
        const requested = random.between(1, LIMIT);
        const isGranted = counter.acquire(atMs, 'a', { 11: requested }, 11);
        if (isGranted) expect(requested).toBeLessThan(lowest);
        else [lowest, denials] = [Math.min(lowest, requested), denials + 1];
      }
    }
    expect(denials).toBeGreaterThan(500);
  });
});

describe('a permit', () => {
  // `a` requests a permit of bucket 11 by a clock that differs from the clock of `other`.
  it.each<[otherCounts: Counts, isGranted: boolean]>([
    [{ 0: 19 }, true],
    [{ 0: 20 }, false],
    [{ [-1]: 20 }, true],
    [{ 0: 10, 11: 9 }, true],
    [{ 0: 10, 11: 10 }, false],
    // Window 1 to 12 has 20 requests, and window 0 to 11 has 11.
    [{ 0: 10, 12: 19 }, true],
    [{ 1: 10, 12: 9 }, true],
    [{ 1: 10, 12: 10 }, false],
    [{ 2: 10, 13: 10 }, false],
  ])('counts the requests %o of another isolate (granted: %s)', (otherCounts, isGranted) => {
    const counter = createCounter({});
    counter.report(11 * BUCKET_MS, 'other', otherCounts);
    expect(counter.acquire(11 * BUCKET_MS + 1_000, 'a', { 11: 1 }, 11)).toBe(isGranted);
  });

  it('is granted although later requests of its isolate arrive first', () => {
    const counter = createCounter({ a: { 0: 5 } });
    // Window 1 to 12 has 20 requests, and window 0 to 11 has 15.
    expect(counter.acquire(12 * BUCKET_MS, 'a', { 0: 5, 12: 10 }, 12)).toBe(true);
    expect(counter.acquire(12 * BUCKET_MS + 10, 'a', { 0: 5, 11: 10 }, 11)).toBe(true);
    expect(counter.getCount('a', 11)).toBe(10);
  });
});
