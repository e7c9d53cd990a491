/**
 * A fixed window of 60 seconds that begins with the client's first request in it, or when an isolate opens it
 * for a client that is there still. Pure: the caller brings the time and stores the window.
 */

import { WINDOW_SECONDS } from '../http/errors.ts';

const WINDOW_MS = WINDOW_SECONDS * 1_000;

/** The state of one counter. */
export type Window = {
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Requests granted. A refused request is not counted. */
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
