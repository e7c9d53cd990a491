/**
 * The arithmetic of a counter, which only grows: each isolate reports its count so far, and the
 * counter adds up the greatest counts, so a report may be repeated, late or lost.
 */

export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** The limits of an address. A key with a limit of its own uses `default` for all routes. */
export type PolicyName = 'default' | 'ingest';

/** A message of an isolate about one window of one client. Times are milliseconds since the epoch. */
export type Report = {
  /** A random id of the isolate's window: a restarted isolate hides no count. */
  record: string;
  /** The requests so far. A request that wants a place has its own number here. */
  count: number;
  /** By the isolate's clock. An age would be wrong by the time that the report was under way. */
  beganAt: number;
  /** Whether a request waits for the reply. */
  wantsPlace: boolean;
};

/** `own` is the count of the record, and `others` the sum of all other records in the window. */
export type Reply = { isGranted: boolean; own: number; others: number; beganAt: number };

/** The client's window, by the counter's clock. */
export type CounterWindow = {
  beganAt: number;
  /** Record → its requests in the window, and in the window before. */
  counts: ReadonlyMap<string, number>;
  countsBefore: ReadonlyMap<string, number>;
  /** Reports that changed a count. */
  changes: number;
};

const NO_WINDOW: CounterWindow = {
  beganAt: Number.NEGATIVE_INFINITY,
  counts: new Map(),
  countsBefore: new Map(),
  changes: 0,
};

/** Windows of one isolate begin 60 s apart. To the counter they may seem up to 10 s closer. */
const APART_MS = WINDOW_MS - 10_000;
/** Of an isolate and the counter, as far as it is provided for. */
const MAX_CLOCK_DIFFERENCE_MS = 5_000;
/** A clock with a larger error is not used. */
const MAX_CLOCK_ERROR_MS = 2 * WINDOW_MS;

/**
 * Adds a report to the open window, and grants a place while the total with the request's number is
 * within the limit. Each request is in one window: the counts of the window before are subtracted.
 * `changed` is the window with the new count, if there is one.
 */
export function addReport(
  last: CounterWindow | undefined,
  report: Report,
  limit: number,
  now: number,
): { reply: Reply; changed?: CounterWindow } {
  const { record, count, wantsPlace } = report;
  const isUsable = Math.abs(now - report.beganAt) <= MAX_CLOCK_ERROR_MS;
  const recordBeganAt = isUsable ? report.beganAt : now;
  const open = openWindow(last ?? NO_WINDOW, recordBeganAt, now);

  // The record's window had ended when the open one began: the window before has its requests. In
  // the open one, after a stall of 64 s, they would take the places of the isolate's next window.
  const isLate = open.beganAt - recordBeganAt >= WINDOW_MS - MAX_CLOCK_DIFFERENCE_MS;
  // A counter that lost its memory may get the report of a later record first.
  const isFirst = !isLate && open.countsBefore.size === 0;
  const window = isFirst ? { ...open, beganAt: Math.min(open.beganAt, recordBeganAt) } : open;

  const counts = isLate ? window.countsBefore : window.counts;
  const before = isLate ? 0 : (window.countsBefore.get(record) ?? 0);
  const number = count - before;
  const known = counts.get(record) ?? 0;
  const others = counts.values().reduce((sum, each) => sum + each, 0) - known;
  // Already counted, because a later number was reported first: it has its place.
  const isGranted = wantsPlace && (number <= known || number + others <= limit);
  const own = isGranted || !wantsPlace ? Math.max(known, number) : known;
  const beganAt = isLate ? window.beganAt - WINDOW_MS : window.beganAt;
  const reply = { isGranted, own: own + before, others, beganAt };
  if (own === known) return { reply };

  const name = isLate ? 'countsBefore' : 'counts';
  const changes = window.changes + 1;
  return { reply, changed: { ...window, [name]: new Map(counts).set(record, own), changes } };
}

/** Returns the last window, or begins the next one: at the record's begin, but never after `now`. */
function openWindow(last: CounterWindow, recordBeganAt: number, now: number): CounterWindow {
  // A clock that was set back by a whole window ends it too.
  const hasEnded = Math.abs(now - last.beganAt) >= WINDOW_MS;
  if (!hasEnded && recordBeganAt - last.beganAt < APART_MS) return last;
  const endAt = last.beganAt + WINDOW_MS;
  const beganAt = Math.min(Math.max(recordBeganAt, endAt), now);
  const countsBefore = beganAt - endAt < APART_MS ? last.counts : NO_WINDOW.counts;
  return { ...NO_WINDOW, beganAt, countsBefore };
}
