/** Decisions about permits, based on the messages that a counter receives. */

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
/** Counts of another isolate, which has used the complete limit in bucket 0. */
const BUCKET_0_IS_FULL = { other: { 0: LIMIT } };

/** Number of requests by bucket. Buckets are numbered from the start of the test. */
type Counts = Record<number, number>;
/** A permit request from the reporter `a`. `ms` is the time since bucket 11 began on the counter's clock. */
type PermitCall = { ms: number; counts: Counts; bucket: number };

/** A counter whose methods accept the time since the start of bucket 0 in milliseconds. */
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

/** Creates a counter that has received a report from each reporter. */
function createCounter(reporters: Record<string, Counts>): Counter {
  const counter = new Counter();
  for (const [reporter, counts] of Object.entries(reporters)) counter.report(0, reporter, counts);
  return counter;
}

describe('a denied permit', () => {
  // Requests of bucket 11 are admitted or pending when a request of bucket 12 arrives. The call with
  // `{11: 16}` was sent while the denied requests were still pending, and arrives last.
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
      "when the counter's clock is almost ten seconds ahead",
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

  it('stays denied regardless of the other messages that the counter receives', () => {
    const random = new Random('permits');
    let denials = 0;
    for (let run = 0; run < 300; run += 1) {
      const counter = new Counter();
      const anyBucket = () => random.between(-2, 14);
      let atMs = 11 * BUCKET_MS + random.between(-10_000, 0);
      // By the isolate's clock, a permit request for bucket 11 can arrive up to 300 ms after the end of
      // the bucket. That clock may be ten seconds behind.
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
  // The clock by which `a` requests a permit in bucket 11 differs from the clock of `other`.
  it.each<[otherCounts: Counts, isGranted: boolean]>([
    [{ 0: 19 }, true],
    [{ 0: 20 }, false],
    [{ [-1]: 20 }, true],
    [{ 0: 10, 11: 9 }, true],
    [{ 0: 10, 11: 10 }, false],
    // Buckets 1 to 12 contain 20 requests, and buckets 0 to 11 contain 11.
    [{ 0: 10, 12: 19 }, true],
    [{ 1: 10, 12: 9 }, true],
    [{ 1: 10, 12: 10 }, false],
    [{ 2: 10, 13: 10 }, false],
  ])(
    'takes the requests %o of another isolate into account (granted: %s)',
    (otherCounts, isGranted) => {
      const counter = createCounter({});
      counter.report(11 * BUCKET_MS, 'other', otherCounts);
      expect(counter.acquire(11 * BUCKET_MS + 1_000, 'a', { 11: 1 }, 11)).toBe(isGranted);
    },
  );

  it('is granted even if later requests of the same isolate arrive first', () => {
    const counter = createCounter({ a: { 0: 5 } });
    // Buckets 1 to 12 contain 20 requests, and buckets 0 to 11 contain 15.
    expect(counter.acquire(12 * BUCKET_MS, 'a', { 0: 5, 12: 10 }, 12)).toBe(true);
    expect(counter.acquire(12 * BUCKET_MS + 10, 'a', { 0: 5, 11: 10 }, 11)).toBe(true);
    expect(counter.getCount('a', 11)).toBe(10);
  });
});
