/** Plausible mistakes of the rate limit: each takes a function of the service, and returns a wrong one. */

import type { firstWithin } from '../../src/deadline.ts';
import type { addReport, isInWindow } from '../../src/rate-limit/counter-arithmetic.ts';

type Add = typeof addReport;
type Report = Parameters<Add>[1];
type Result = ReturnType<Add>;

const onReport =
  (change: (report: Report) => Report) =>
  (real: Add): Add =>
  (last, report, ...rest) =>
    real(last, change(report), ...rest);

const onResult =
  (change: (result: Result, report: Report) => Result) =>
  (real: Add): Add =>
  (last, report, ...rest) =>
    change(real(last, report, ...rest), report);

export const countSpansTwice = onReport(({ counts, ...report }) => {
  const next = [...counts].map(([span, count]) => [span + 1, count] as const);
  return { ...report, counts: new Map([...next, ...counts]) };
});

export const grantUncounted = onResult(({ reply, ...rest }, { wantsPlace }) =>
  wantsPlace ? { reply } : { reply, ...rest },
);

export const replyOwn = onResult(({ reply, ...rest }, { counts }) => ({
  ...rest,
  reply: { ...reply, others: counts },
}));

export const replyNothing = onResult(({ reply, ...rest }) => ({
  ...rest,
  reply: { ...reply, others: new Map() },
}));

export function replaceCounts(real: Add): Add {
  return (last, report, ...rest) => {
    const spans = new Map(last?.spans);
    for (const [span, records] of spans) {
      spans.set(span, new Map([...records].filter(([record]) => record !== report.record)));
    }
    return real(last && { ...last, spans }, report, ...rest);
  };
}

export function keepAllSpans(): typeof isInWindow {
  return () => true;
}

export function keepLaterSpans(real: typeof isInWindow): typeof isInWindow {
  return (span, current) => span > current || real(span, current);
}

export function waitLonger(real: typeof firstWithin): typeof firstWithin {
  return (work, milliseconds, late) => real(work, 3 * milliseconds, late);
}
