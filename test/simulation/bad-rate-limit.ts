/**
 * Plausible mistakes of the rate limit: each takes a function or a constant of the service, and
 * returns a wrong one.
 */

import { type addReport, WINDOW_MS } from '../../src/rate-limit/window.ts';

type AddReport = typeof addReport;
type Decide = (tally: { reserved: number }, ...rest: unknown[]) => string;

/** A report that is late, or comes twice, is counted again. */
export function addUp(real: AddReport): AddReport {
  return (known, report, limit, now) => {
    const own = known.flatMap(({ counts }) => counts.get(report.record) ?? []).at(-1) ?? 0;
    return real(known, { ...report, count: own + report.count }, limit, now);
  };
}

/** Requests that wait for the object at once do not see each other. */
export function reserveNothing(real: Decide): Decide {
  return (tally, ...rest) => real({ ...tally, reserved: 0 }, ...rest);
}

export function neverWait(real: Decide): Decide {
  return (...values) => {
    const decision = real(...values);
    return decision === 'reserve' ? 'report' : decision;
  };
}

export function denyOvertaken(real: AddReport): AddReport {
  return (known, report, limit, now) => {
    const result = real(known, report, limit, now);
    const isGranted = report.wantsPlace && report.count + result.reply.others <= limit;
    return { ...result, reply: { ...result.reply, isGranted } };
  };
}

export const moreThanAWindow = () => WINDOW_MS + 10_000;
export const aMillisecond = () => 1;
export const aWindow = () => WINDOW_MS;
export const aSecond = () => 1_000;
