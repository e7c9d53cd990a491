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
  /** Record → its greatest count. */
  counts: ReadonlyMap<string, number>;
  /** Reports that changed a count. */
  changes: number;
};

/**
 * Windows that began less than this apart are one. An isolate's windows begin at least 60 s apart;
 * to the object they may seem up to 10 s closer, which is far more than a report is ever late.
 */
const SAME_WINDOW_MS = WINDOW_MS - 10_000;

/**
 * Adds a report to its window: the one of `known` (the client's last two, in the order of their
 * begin) that began at about the same time, or a new one. Grants a place while the total with the
 * request's number is within the limit. Returns the last two windows, and the one that the report
 * has changed.
 *
 * @example
 * // At 70 s, a window that is 5 s old began at 65 s: it is the same as the one of 60 s.
 * addReport([of0s, of60s], { record, count: 8, ageMs: 5_000, wantsPlace: false }, 100, 70_000);
 */
export function addReport(
  known: readonly ObjectWindow[],
  { record, count, ageMs, wantsPlace }: Report,
  limit: number,
  now: number,
): { windows: readonly ObjectWindow[]; changed?: ObjectWindow; reply: Reply } {
  const recordBeganAt = now - ageMs;
  const isSameWindow = ({ beganAt }: ObjectWindow) =>
    Math.abs(beganAt - recordBeganAt) < SAME_WINDOW_MS;
  const window = known.find(isSameWindow);
  // A window begins with the client's first request in any isolate.
  const beganAt = Math.min(window?.beganAt ?? recordBeganAt, recordBeganAt);
  if (now - beganAt >= WINDOW_MS) {
    // The window has ended: nothing is left to protect. Its age ends it in the isolate too.
    const reply = { isGranted: true, own: count, others: 0, ageMs: now - beganAt };
    return { windows: known, reply };
  }

  const counts = new Map(window?.counts);
  const before = counts.get(record) ?? 0;
  const others = counts.values().reduce((sum, each) => sum + each, 0) - before;
  // Already counted, because a later number was reported first: it has its place.
  const isGranted = wantsPlace && (count <= before || count + others <= limit);
  const own = isGranted || !wantsPlace ? Math.max(before, count) : before;
  const reply = { isGranted, own, others, ageMs: now - beganAt };
  if (own === before) return { windows: known, reply };

  const changed = {
    beganAt,
    counts: counts.set(record, own),
    changes: (window?.changes ?? 0) + 1,
  };
  const windows = known
    // A window of the future was begun before the object's clock was set back.
    .filter((each) => each !== window && each.beganAt - now < SAME_WINDOW_MS)
    .concat(changed)
    .toSorted((a, b) => a.beganAt - b.beganAt)
    .slice(-2);
  return { windows, changed, reply };
}
