/** A soak of the production bundle over real HTTP: 2 seconds, or 30 with `FULL=1`. */

import { beforeAll, describe, expect, it } from 'vitest';
import { type SoakReport, soak } from '../../tools/soak/run.ts';
import { startWatchedProduction } from '../support/node/production-service.ts';

const isFull = process.env.FULL === '1';
const SECONDS = isFull ? 30 : 2;

describe('under mixed traffic at concurrency 32', () => {
  let report: SoakReport;

  beforeAll(async () => {
    report = await soak(SECONDS, startWatchedProduction);
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
});
