/**
 * The arithmetic of one counter: a fixed window of 60 seconds that begins with the client's first
 * request in it. Pure: the caller brings the time and stores the window.
 */

export const WINDOW_SECONDS = 60;
const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** A window is stored at every fifth hit, so an eviction forgets four hits at most. */
const HITS_PER_STORE = 5;

/** The state of one counter. */
export type Window = {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Requests let through. A refused request is not counted. */
  hits: number;
};

/** The outcome of counting one request. */
export type Count = {
  outcome: 'allowed' | 'refused';
  limit: number;
  remaining: number;
  /** Milliseconds until the window is over, above 0. */
  resetMs: number;
};

/** Counts one request at `now`, in milliseconds since the epoch. Returns the next state too. */
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

/** Reports whether a window is stored after a hit: at every fifth one, and when it is full. */
export function isDueToStore(window: Window, { remaining }: Count): boolean {
  return remaining === 0 || window.hits % HITS_PER_STORE === 0;
}

/**
 * Reports whether a window is over. One that begins a whole window in the future is over too: a clock
 * that was set back must not lock a client out.
 */
export function isOver(window: Window, now: number): boolean {
  return Math.abs(now - window.startedAt) >= WINDOW_MS;
}

/** Returns the time at which the window is over, in milliseconds since the epoch. */
export function endOf(window: Window): number {
  return window.startedAt + WINDOW_MS;
}
