/**
 * The arithmetic of the rate limit. An isolate asks a client's object for several requests at once: a lease. The object
 * debits them when it grants them. The functions are pure: their caller passes the time and keeps the window.
 *
 * A first lease is small and not stored, so a client of a few requests costs no row. A later lease shrinks with the
 * requests that are left, so that no isolate holds many requests that another one needs.
 */

/** The length of a window, which begins with the client's first request in it. */
export const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** The first lease of a window is a 25th of the limit. */
const FIRST_LEASE_DIVISOR = 25;
/** A later lease is at most a tenth of the limit, and at most a quarter of the requests that are left. */
const LARGEST_LEASE_DIVISOR = 10;
const LEFT_DIVISOR = 4;

/** The two counters of a client. */
export type CounterName = 'default' | 'ingest';

/** The state of one counter. */
export type Window = {
  /** Milliseconds since the epoch, by the clock of the object that began the window. */
  startedAt: number;
  /** Requests granted. A refused request is not counted. */
  hits: number;
};

/** The answer to an isolate that asked for requests. */
export type Lease = {
  /** Requests that the isolate may let through; 0 when the window is full. */
  granted: number;
  /** Requests of the window that are not granted yet. */
  left: number;
  /** Milliseconds until the window is over, above 0. */
  resetMs: number;
  /** `startedAt` of the window, which names it among the windows of its counter. */
  window: number;
};

/** Returns the size of the first lease of a window. */
export function firstLease(limit: number): number {
  return partOf(limit, FIRST_LEASE_DIVISOR);
}

/** Returns the number of requests that an isolate may hold unspent. No lease is larger. */
export function largestLease(limit: number): number {
  return partOf(limit, LARGEST_LEASE_DIVISOR);
}

/** Returns the size of the next lease of a window with `left` requests: 0 when the window is full. */
export function nextLease(limit: number, left: number): number {
  if (left <= 0) return 0;
  if (left === limit) return firstLease(limit);
  return Math.min(largestLease(limit), partOf(left, LEFT_DIVISOR));
}

/**
 * Returns the window at `now`, in milliseconds since the epoch: the object's own window, else the window that the
 * isolate remembers, else a new one.
 */
export function windowAt(
  now: number,
  own: Window | undefined,
  remembered: Window | undefined,
): Window {
  if (own !== undefined && !isOver(own, now)) return own;
  if (remembered !== undefined && !isOver(remembered, now)) return remembered;
  return { startedAt: now, hits: 0 };
}

/** Grants up to `wanted` requests of a window that is not over at `now`. Returns the lease and the window after it. */
export function grant(
  { startedAt, hits }: Window,
  limit: number,
  wanted: number,
  now: number,
): { window: Window; lease: Lease } {
  const left = Math.max(0, limit - hits);
  const granted = Math.min(Math.max(1, wanted), nextLease(limit, left));
  return {
    window: { startedAt, hits: hits + granted },
    lease: {
      granted,
      left: left - granted,
      resetMs: endOf({ startedAt, hits }) - now,
      window: startedAt,
    },
  };
}

/** Reports whether a window is stored after a grant: from its second lease on, and when it is full. */
export function isDueToStore({ hits }: Window, limit: number): boolean {
  return hits > firstLease(limit) || hits >= limit;
}

/**
 * Reports whether a window is over. A window that begins a whole window in the future is over too: otherwise a clock
 * that was set back would lock its client out.
 */
export function isOver({ startedAt }: Window, now: number): boolean {
  return Math.abs(now - startedAt) >= WINDOW_MS;
}

/** Returns the time at which the window is over, in milliseconds since the epoch. */
export function endOf({ startedAt }: Window): number {
  return startedAt + WINDOW_MS;
}

function partOf(requests: number, divisor: number): number {
  return Math.max(1, Math.floor(requests / divisor));
}
