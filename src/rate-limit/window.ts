/**
 * The arithmetic of a client's object. Each isolate reports its count so far, and the object adds
 * up the greatest count of each isolate (a grow-only counter). So a report may be repeated, late or
 * lost.
 */

export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;

export type CounterName = 'default' | 'ingest';

export type Report = {
  /** A random id of the isolate's window: a restarted isolate hides no count. */
  record: string;
  /** The record of the isolate's previous window. */
  formerRecord?: string | undefined;
  passed: number;
  /** The age of the window. Clocks differ. */
  ageMs: number;
  /** Whether a request waits for a place. */
  wantsPlace: boolean;
};

/** `own` is the count of the reported record. */
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

/** Adds a report to its window. Grants a place while the total is below the limit. */
export function addReport(
  known: ObjectWindow | undefined,
  report: Report,
  limit: number,
  now: number,
): { window: ObjectWindow | undefined; reply: Reply } {
  const window = windowOf(known, report, now);
  if (window === undefined) {
    // With this age, the isolate begins its next window.
    const reply = { isGranted: true, own: report.passed, others: 0, ageMs: WINDOW_MS };
    return { window: known, reply };
  }
  const before = window.counts.get(report.record) ?? 0;
  const others = [...window.counts.values()].reduce((sum, count) => sum + count, 0) - before;
  const passed = Math.max(before, report.passed);
  const isGranted = report.wantsPlace && passed + others < limit;
  const own = isGranted ? passed + 1 : passed;
  const reply = { isGranted, own, others, ageMs: now - window.beganAt };
  if (own === before) return { window, reply };
  const counts = new Map(window.counts).set(report.record, own);
  return { window: { ...window, counts, changes: window.changes + 1 }, reply };
}

/**
 * Returns the window of a report; undefined when it has ended. Reports take time, so the object's
 * window ends later than an isolate's. A report whose former record was counted in it begins the
 * next window.
 */
function windowOf(
  known: ObjectWindow | undefined,
  { record, formerRecord, ageMs }: Report,
  now: number,
): ObjectWindow | undefined {
  const beganAt = now - ageMs;
  const isFirst = known === undefined && formerRecord === undefined;
  const notBefore = isFirst ? Number.NEGATIVE_INFINITY : beganAt - WINDOW_MS / 2;
  const next = { beganAt, notBefore, counts: new Map(), changes: 0 };
  if (known === undefined) return next;
  const isNext = formerRecord !== undefined && known.counts.has(formerRecord);
  const hasEnded = isNext || Math.abs(now - known.beganAt) >= WINDOW_MS;
  // A record that was not counted yet is late if it began in an earlier window.
  const earliest = hasEnded ? known.beganAt + WINDOW_MS / 2 : known.notBefore;
  const isLate = known.counts.has(record) ? hasEnded : beganAt < earliest;
  if (isLate) return undefined;
  if (hasEnded) return next;
  // The window began with the client's first request in any isolate.
  return { ...known, beganAt: Math.min(known.beganAt, beganAt) };
}
