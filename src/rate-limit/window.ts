/**
 * The arithmetic of one counter: a fixed window that begins with the client's first request in it
 * (specification: Limits). Pure: the caller brings the time and keeps the window.
 */

/** How long every window is. */
export const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** Above any number of milliseconds until a window is over. */
const PACKED_RESET = 2 * WINDOW_MS;

/** One hit in so many is stored: an eviction forgets those since, one less than this at most. */
const HITS_A_STORE = 5;

/** What a counter keeps. */
export type Window = {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Requests let through; refused ones are not counted. */
  hits: number;
};

/** What one request's hit came to. */
export type Count = {
  outcome: 'allowed' | 'refused';
  limit: number;
  remaining: number;
  /** Until the window is over; above 0. */
  resetMs: number;
};

/** Counts one request at `now` (milliseconds since the epoch): the window after it, and what it came to. */
export function hit(
  window: Window | undefined,
  limit: number,
  now: number,
): { window: Window; count: Count } {
  const current =
    window === undefined || isOver(window, now) ? { startedAt: now, hits: 0 } : window;
  const resetMs = endOf(current) - now;
  if (current.hits >= limit) {
    return { window: current, count: { outcome: 'refused', limit, remaining: 0, resetMs } };
  }
  const hits = current.hits + 1;
  return {
    window: { startedAt: current.startedAt, hits },
    count: { outcome: 'allowed', limit, remaining: limit - hits, resetMs },
  };
}

/**
 * A count as one number: an object that crosses an RPC keeps its call alive until it is disposed of,
 * and costs several times as much as what it says. Refused requests are below 0.
 */
export function pack({ outcome, remaining, resetMs }: Count): number {
  return outcome === 'refused' ? -resetMs : remaining * PACKED_RESET + resetMs;
}

/** What `pack` made of a count against `limit`. */
export function unpack(packed: number, limit: number): Count {
  if (packed < 0) return { outcome: 'refused', limit, remaining: 0, resetMs: -packed };
  const resetMs = packed % PACKED_RESET;
  const remaining = (packed - resetMs) / PACKED_RESET;
  return { outcome: 'allowed', limit, remaining, resetMs };
}

/** Whether a window that has just let a request through is to be stored: every fifth hit, and when full. */
export function isDueToStore(window: Window, { remaining }: Count): boolean {
  return remaining === 0 || window.hits % HITS_A_STORE === 0;
}

/** A window as far in the future as it is long is over too: a clock set back must not lock a client out. */
export function isOver(window: Window, now: number): boolean {
  return Math.abs(now - window.startedAt) >= WINDOW_MS;
}

/** When the window is over, in milliseconds since the epoch. */
export function endOf(window: Window): number {
  return window.startedAt + WINDOW_MS;
}
