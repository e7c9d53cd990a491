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
  /** Of its previous window. If the object's has not ended, this isolate's clock is ahead. */
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
  /** A new record that began earlier is late. −∞ if no earlier window is known. */
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
  const window = findWindow(known, report, now);
  if (window === 'late') {
    // Its window has ended: nothing is left to protect. With this age it ends in the isolate too.
    const reply = { isGranted: true, own: report.count, others: 0, ageMs: WINDOW_MS };
    return { window: known, reply };
  }
  const before = window.counts.get(report.record) ?? 0;
  const others = [...window.counts.values()].reduce((sum, count) => sum + count, 0) - before;
  // Already counted, because a later number was reported first: it has its place.
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

/** Finds the window of a report. In the examples, the known window began at 0 s. */
function findWindow(
  known: ObjectWindow | undefined,
  { record, formerRecord, ageMs }: Report,
  now: number,
): ObjectWindow | 'late' {
  const beganAt = now - ageMs;
  const notBefore = beganAt - HALF_WINDOW_MS;
  const next: ObjectWindow = { beganAt, notBefore, counts: new Map(), changes: 0 };

  // A known window that begins much later is of a clock that was set back.
  if (known === undefined || known.beganAt - now >= WINDOW_MS) {
    // If the isolate knows no former window either, this counts as the client's first.
    const isFirst = formerRecord === undefined;
    return isFirst ? { ...next, notBefore: Number.NEGATIVE_INFINITY } : next;
  }

  // The window began with the client's first request in any isolate.
  const current = { ...known, beganAt: Math.min(known.beganAt, beganAt) };
  const hasEnded = now - known.beganAt >= WINDOW_MS;
  // At 59 s, a record of the window is current; at 61 s, it is late.
  if (known.counts.has(record)) return hasEnded ? 'late' : current;
  // At 59 s, an isolate whose clock is ahead has begun its next window.
  const followsKnown = formerRecord !== undefined && known.counts.has(formerRecord);
  if (followsKnown) return next;
  // At 61 s, a new record that began at 20 s is late; one that began at 60 s begins the next window.
  if (hasEnded) return beganAt < known.beganAt + HALF_WINDOW_MS ? 'late' : next;
  // A new record that began at 20 s is current. If the known window began at 60 s instead,
  // `notBefore` is 30 s, and the record is late.
  return beganAt < known.notBefore ? 'late' : current;
}
