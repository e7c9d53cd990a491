/**
 * The arithmetic of the rate limit. Pure: the caller passes the time.
 *
 * Each isolate counts a client's requests, and reports its count so far to the client's object. The object keeps the
 * greatest count of each isolate and adds them up (a grow-only counter). So a report may be repeated, late or lost.
 */

/** A window begins with the client's first request in it. */
export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** An isolate reports each twelfth of the limit. While a fifth is not reported, further requests ask for a place. */
const REPORT_DIVISOR = 12;
const UNREPORTED_DIVISOR = 5;

export type CounterName = 'default' | 'ingest';

/** An isolate's count of one client's requests in one window. */
export type Tally = {
  passed: number;
  /** Requests that wait for the object. */
  reserved: number;
  /** The `passed` of the last report. */
  sent: number;
  /** The greatest count of this isolate that the object has confirmed. */
  reported: number;
  /** The requests of all other isolates, as the object last returned them. */
  others: number;
};

/** Returns the requests that are left in the window, as far as the isolate knows. */
export function remainingOf({ passed, reserved, others }: Tally, limit: number): number {
  return Math.max(0, limit - passed - reserved - others);
}

/** Decides about a request. While the object fails, no request asks it. */
export function decide(tally: Tally, limit: number, isFailing: boolean): 'pass' | 'ask' | 'reject' {
  if (remainingOf(tally, limit) === 0) return 'reject';
  const unreported = tally.passed + tally.reserved - tally.reported;
  return isFailing || unreported < partOf(limit, UNREPORTED_DIVISOR) ? 'pass' : 'ask';
}

export function isReportDue({ passed, sent, reported }: Tally, limit: number): boolean {
  return passed - Math.max(sent, reported) >= partOf(limit, REPORT_DIVISOR);
}

function partOf(limit: number, divisor: number): number {
  return Math.max(1, Math.floor(limit / divisor));
}

/** An isolate's message to the client's object. */
export type Report = {
  /** A random id for each window of each isolate: a restarted isolate hides no count. */
  record: string;
  /** The record of the isolate's previous window, which has ended. */
  formerRecord: string | undefined;
  /** The requests that passed so far. */
  passed: number;
  /** Milliseconds since the window began. An age, because clocks differ. */
  ageMs: number;
  /** Asks whether one more request may pass. */
  wantsPlace: boolean;
};

/** The object's response: the counts of the reported record and of all others, and the age of the window. */
export type Reply = { isGranted: boolean; own: number; others: number; ageMs: number };

/** A window as the object counts it. Times are in milliseconds since the epoch, by the object's clock. */
export type ObjectWindow = {
  beganAt: number;
  /** A new record that began earlier belongs to the previous window. */
  notBefore: number;
  /** Record → its greatest count. */
  counts: ReadonlyMap<string, number>;
  /** The number of reports that changed a count. */
  changes: number;
};

/** Reports whether a window has ended. A start far in the future comes from a clock that was set back. */
export function hasEnded(beganAt: number, now: number): boolean {
  return Math.abs(now - beganAt) >= WINDOW_MS;
}

/** Adds a report to the known window or to the next one. Grants a place while the total is below the limit. */
export function addReport(
  known: ObjectWindow | undefined,
  report: Report,
  limit: number,
  now: number,
): { window: ObjectWindow | undefined; reply: Reply } {
  const window = windowOf(known, report, now);
  if (window === undefined) {
    // The isolate takes over the age, and so begins its next window.
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
 * Returns the window of a report; undefined when it has ended. Reports take time, so the object's window ends a little
 * later than an isolate's: a report that names a counted record as its former one begins the next window.
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
  const isOver = isNext || hasEnded(known.beganAt, now);
  const earliest = isOver ? known.beganAt + WINDOW_MS / 2 : known.notBefore;
  if (known.counts.has(record) ? isOver : beganAt < earliest) return undefined;
  if (isOver) return next;
  // The window began with the client's first request, whichever isolate reports it.
  return { ...known, beganAt: Math.min(known.beganAt, beganAt) };
}
