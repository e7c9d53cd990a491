/**
 * The arithmetic of a counter. Requests are counted by spans of the clock, and the window is the
 * last twelve spans, so that isolates and counters agree on it without a word. Counts only grow:
 * the counter keeps the greatest of each span, so a report may be repeated, late or lost.
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

/** A message of an isolate about one client. */
export type Report = {
  /** A random id of the isolate's counts: a restarted isolate hides none. */
  record: string;
  /** The requests so far. A request that wants a place is the last of them. */
  counts: Counts;
  /** Whether a request waits for the reply. */
  wantsPlace: boolean;
};

/**
 * `isGranted`: the waiting request has its place; if no request waits, the counts are stored.
 * `others` are the requests of all other records in the window.
 */
export type Reply = { isGranted: boolean; others: Counts };

export type CounterState = {
  /** Span → record → its requests. */
  spans: ReadonlyMap<number, ReadonlyMap<string, number>>;
  isStored: boolean;
  /** The time of the latest change: every stored form has it, for the alarm. */
  changedAt: number;
};

/** Whether a span is in the window whose last span is `current`. */
export function isInWindow(span: number, current: number): boolean {
  return span > current - SPANS && span <= current + SPANS_AHEAD;
}

function windowOf<T>(spans: Iterable<[number, T]>, current: number): Map<number, T> {
  return new Map([...spans].filter(([span]) => isInWindow(span, current)));
}

export function totalOf(counts: ReadonlyMap<unknown, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

/**
 * Adds a report, and grants a place while all requests of the window are within the limit.
 * `changed` is the new state, if it is another one. The first report alone is not stored: most
 * clients send no second one.
 */
export function addReport(
  last: CounterState | undefined,
  { record, counts, wantsPlace }: Report,
  limit: number,
  now: number,
): { reply: Reply; changed?: CounterState } {
  const current = Math.floor((now - MAX_WAIT_MS) / SPAN_MS);
  const spans = windowOf(last?.spans ?? [], current);
  const reported = windowOf(counts, current);
  const knownIn = (span: number) => spans.get(span)?.get(record) ?? 0;
  const others = new Map(
    spans.entries().map(([span, each]) => [span, totalOf(each) - knownIn(span)]),
  );
  const news = [...reported].filter(([span, count]) => count > knownIn(span));
  // The place is in the latest span of the report, so that span's window decides. Own requests count
  // as reported: the isolate may have dropped a span that is stored here.
  const latest = Math.max(...counts.keys());
  const isWithin = totalOf(reported) + totalOf(windowOf(others, latest)) <= limit;
  // A request that is too late to be counted gets no place. Without news, a later report came first,
  // and counted the request.
  const isInTime = reported.has(latest);
  const isStored = wantsPlace || last !== undefined;
  const isGranted = wantsPlace ? isInTime && (isWithin || news.length === 0) : isStored;
  const reply = { isGranted, others };
  const isKnown = news.length === 0 && last?.isStored !== false;
  if (isKnown || (wantsPlace && !isGranted)) return { reply };
  for (const [span, count] of news) spans.set(span, new Map(spans.get(span)).set(record, count));
  return { reply, changed: { spans, isStored, changedAt: now } };
}
