/** Mixed traffic on the production bundle over real HTTP; `FULL=1` for 30 seconds. */

import { beforeAll, describe, expect, it } from 'vitest';
import { type SoakReport, soak } from '../../src/cli/soak/run.ts';

const isFull = process.env.FULL === '1';
const SECONDS = isFull ? 30 : 5;
/** What the isolate may hold more at the end than in the middle: its caches are bounded in bytes. */
const MAX_GROWTH_MEGABYTES = 6;

describe('under mixed traffic at concurrency 32', () => {
  let report: SoakReport;

  beforeAll(async () => {
    report = await soak(SECONDS);
    console.log(JSON.stringify(report));
  });

  it('every answer is right', () => {
    expect(report.problems).toEqual([]);
    expect(Object.keys(report.statuses).toSorted()).toEqual(['200', '202', '304', '404', '409']);
    expect(report.counts.feed).toBeGreaterThan(10 * SECONDS);
  });

  it('no fault is logged', () => {
    expect(report.faults).toBe(0);
  });

  it('every accepted event is stored, once', () => {
    expect(report.events.acknowledged).toBeGreaterThan(SECONDS);
    expect(report.events.stored).toBe(report.events.acknowledged);
  });

  it('the memory that the isolate holds does not grow', () => {
    const { middle, end } = report.memory;
    expect(end - middle).toBeLessThan(MAX_GROWTH_MEGABYTES);
    expect(end).toBeLessThan(40);
  });
});
