/**
 * The arithmetic of a counter. Requests are counted by spans of the clock, and the window is the
 * last twelve spans, so that isolates and counters agree on it without a word. Counts only grow:
 * the counter keeps the greatest of each span, so a message may be repeated, late or lost.
 *
 *     span      … 360000  360001  360002 …      five seconds each, numbered since the epoch
 *     requests         3      40       2
 */

export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;
export const SPAN_MS = 5_000;
/** In a window, with the current one. */
export const SPANS = WINDOW_MS / SPAN_MS;
/** By another clock, a later span may have begun. An even later one is of a clock set back since. */
export const SPANS_AHEAD = 2;
/** How long a request waits for its counter. Meanwhile the next span may begin. */
export const MAX_WAIT_MS = 300;

/** The limits of an address. A key with a limit of its own uses `default` for all routes. */
export type PolicyName = 'default' | 'ingest';

/** Span → requests. */
export type Counts = ReadonlyMap<number, number>;

/** What an isolate has let pass of one client's requests. */
export type Report = {
  /** A random id of the isolate's counts: a restarted isolate hides none. */
  record: string;
  /** Of the span of a place, with this place, and with those that were asked for before it. */
  counts: Counts;
};

/** The place that a waiting request asks for. */
export type Place = { span: number; limit: number };

/**
 * `isCounted`: the counts are to be stored, and a place is granted. `others` are the requests of
 * all other records in the window.
 */
export type Reply = { isCounted: boolean; others: Counts };

export type CounterState = {
  /** Span → record → its requests. */
  spans: ReadonlyMap<number, ReadonlyMap<string, number>>;
  /** The time of the latest change: every stored form has it, for the alarm. */
  changedAt: number;
};

/** Returns the span of a time in milliseconds. */
export const spanAt = (time: number) => Math.floor(time / SPAN_MS);

/** Whether a span is in the window whose last span is `current`. */
export function isInWindow(span: number, current: number): boolean {
  return span > current - SPANS && span <= current + SPANS_AHEAD;
}

/** Returns the spans in the window of a time, or of a request that has waited until then. */
function windowOf<T>(spans: Iterable<[number, T]>, now: number): Map<number, T> {
  const [current, earlier] = [spanAt(now), spanAt(now - MAX_WAIT_MS)];
  const isNeeded = (span: number) => isInWindow(span, current) || isInWindow(span, earlier);
  return new Map([...spans].filter(([span]) => isNeeded(span)));
}

function totalOf(counts: ReadonlyMap<unknown, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

/** Adds a report. The first one alone is not stored: most clients send no second one. */
export function addReport(last: CounterState | undefined, { record, counts }: Report, now: number) {
  const spans = windowOf(last?.spans ?? [], now);
  const countIn = (span: number) => spans.get(span)?.get(record) ?? 0;
  const others = new Map(
    spans.entries().map(([span, records]) => [span, totalOf(records) - countIn(span)]),
  );
  for (const [span, count] of windowOf(counts, now)) {
    if (count > countIn(span)) spans.set(span, new Map(spans.get(span)).set(record, count));
  }
  return { isCounted: last !== undefined, others, changed: { spans, changedAt: now } };
}

/** Grants a place while all requests of the window are within the limit. Else it adds nothing. */
export function askForPlace(
  last: CounterState | undefined,
  report: Report,
  { span, limit }: Place,
  now: number,
) {
  const { others, changed } = addReport(last, report, now);
  const { spans } = changed;
  // Messages overtake each other: the window is that of the record's latest place.
  const own = spans.entries().filter(([, records]) => records.has(report.record));
  const latest = Math.max(...own.map(([each]) => each));
  let total = 0;
  for (const [each, records] of spans) if (isInWindow(each, latest)) total += totalOf(records);
  // A later message may have counted the place. If it is too late to be counted, it is not granted.
  const isKnown = spans.get(span) === last?.spans.get(span);
  const isCounted = spans.has(span) && (isKnown || total <= limit);
  return { isCounted, others, changed: isCounted ? changed : undefined };
}
