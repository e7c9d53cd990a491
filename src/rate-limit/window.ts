/**
 * The arithmetic of a client's object: a grow-only counter. Each isolate reports its count so far,
 * and the object adds up the greatest counts, so a report may be repeated, late or lost.
 */

export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;

export type CounterName = 'default' | 'ingest';

/** A message of an isolate about one window of one client. */
export type Report = {
  /** A random id of the isolate's window: a restarted isolate hides no count. */
  record: string;
  formerRecord?: string | undefined;
  /** The requests so far. A request that wants a place has its own number here. */
  count: number;
  /** The age of the window, and not its start: clocks differ. */
  ageMs: number;
  /** Whether a request waits for the reply. */
  wantsPlace: boolean;
};

/** `own` is the count of the record, and `others` the sum of all other records. */
type Reply = { isGranted: boolean; own: number; others: number; ageMs: number };

/** A window in the object. Times are in milliseconds since the epoch, by the object's clock. */
export type ObjectWindow = {
  beganAt: number;
  /** A new record that began earlier is of the previous window. */
  notBefore: number;
  /** Record → its greatest count. */
  counts: ReadonlyMap<string, number>;
  /** Reports that changed a count. */
  changes: number;
};

/** Adds a report. Grants a place while the total with the request's number is within the limit. */
export function addReport(
  known: ObjectWindow | undefined,
  report: Report,
  limit: number,
  now: number,
): { window: ObjectWindow | undefined; reply: Reply } {
  const found = findWindow(known, report, now);
  if (found.kind === 'late') {
    // With this age the isolate's window ends (`hasEnded`): its next request begins another.
    const reply = { isGranted: true, own: report.count, others: 0, ageMs: WINDOW_MS };
    return { window: known, reply };
  }
  const { window } = found;
  const before = window.counts.get(report.record) ?? 0;
  const others = [...window.counts.values()].reduce((sum, count) => sum + count, 0) - before;
  // A number that is counted already has its place: a later number has overtaken it.
  const isGranted = report.wantsPlace && (report.count <= before || report.count + others <= limit);
  const isCounted = isGranted || !report.wantsPlace;
  const own = isCounted ? Math.max(before, report.count) : before;
  const reply = { isGranted, own, others, ageMs: now - window.beganAt };
  if (own === before) return { window, reply };
  const counts = new Map(window.counts).set(report.record, own);
  return { window: { ...window, counts, changes: window.changes + 1 }, reply };
}

/** A late report and the difference between two clocks are far less than half a window. */
const HALF_WINDOW_MS = WINDOW_MS / 2;

type WindowOfReport = { kind: 'current' | 'next'; window: ObjectWindow } | { kind: 'late' };

/**
 * Finds the window of a report. The known one may have begun at 0 s, e.g.
 *
 *     at 59 s   a record that the window has, or that began at 20 s: current
 *     at 59 s   a record whose former record the window has: next, because the clock of that
 *               isolate is ahead: its part of the window has ended
 *     at 61 s   a record that the window has, or that began at 20 s: late
 *     at 61 s   a record that began at 60 s: next
 *     at 62 s   a new record that began at 20 s: late, because the window from 60 s is known by now
 */
function findWindow(
  known: ObjectWindow | undefined,
  { record, formerRecord, ageMs }: Report,
  now: number,
): WindowOfReport {
  const beganAt = now - ageMs;
  // A window that begins much later is of a clock that was set back.
  const isUnusable = known === undefined || known.beganAt - now >= WINDOW_MS;
  // No window is known before this one, so a record of any start belongs to it.
  const isFirst = isUnusable && formerRecord === undefined;
  const notBefore = isFirst ? Number.NEGATIVE_INFINITY : beganAt - HALF_WINDOW_MS;
  const next: ObjectWindow = { beganAt, notBefore, counts: new Map(), changes: 0 };
  if (isUnusable) return { kind: 'next', window: next };
  const isKnown = known.counts.has(record);
  const followsKnown = formerRecord !== undefined && known.counts.has(formerRecord);
  if (followsKnown && !isKnown) return { kind: 'next', window: next };
  if (now - known.beganAt >= WINDOW_MS) {
    const isOfKnown = isKnown || beganAt < known.beganAt + HALF_WINDOW_MS;
    return isOfKnown ? { kind: 'late' } : { kind: 'next', window: next };
  }
  if (!isKnown && beganAt < known.notBefore) return { kind: 'late' };
  // The window began with the client's first request in any isolate.
  const window = { ...known, beganAt: Math.min(known.beganAt, beganAt) };
  return { kind: 'current', window };
}
