/**
 * Calls D1 within a time limit, and repeats a call that fails with a passing fault.
 *
 * D1 retries reads by itself but never writes, reports its faults as text only, and stalls for seconds
 * at times. A call may run twice here, so it must be one that may.
 */

import { noteMore, timed } from '../http/log.ts';
import { withDeadline } from './deadline.ts';

const D1_READ_DEADLINE_MS = 5_000;
const D1_WRITE_DEADLINE_MS = 10_000;
/**
 * Pauses before the second to the fifth attempt, each up to a tenth longer or shorter. They spread
 * over most of the 1.5 s in which all repetitions begin.
 */
const PAUSES_MS = [50, 150, 400, 700];
const RETRY_WINDOW_MS = 1_500;
/** The longest pause, up to a half shorter, before a locked database is asked again. */
const LOCKED_PAUSE_MS = 200;

/** The texts of faults that pass by themselves, besides locks. */
const PASSING_FAULT =
  /Network connection lost|storage caused object to be reset|reset because its code was updated|internal error/i;

/**
 * The texts of a lock that another program holds, as an import does locally for seconds when it
 * applies thousands of listings. The deployed D1 is one process, and has none.
 */
const LOCKED = /SQLITE_BUSY|database is locked|Failed to get session commit token/i;

/** Reads within 5 s in all. */
export function readD1<T>(call: () => Promise<T>): Promise<T> {
  return callWithin(D1_READ_DEADLINE_MS, 'D1 read', call);
}

/** Writes within 10 s in all. The write must be one that may run twice. */
export function writeD1<T>(call: () => Promise<T>): Promise<T> {
  return callWithin(D1_WRITE_DEADLINE_MS, 'D1 write', call);
}

/** Calls within a time limit. The request's line in the log tells how long it took, and in how many attempts. */
function callWithin<T>(deadlineMs: number, what: string, call: () => Promise<T>): Promise<T> {
  const attempt = () => {
    noteMore('database_attempts', 1);
    return call();
  };
  return timed('database_ms', () =>
    withDeadline(repeatPassingFaults(attempt, deadlineMs), deadlineMs, what),
  );
}

async function repeatPassingFaults<T>(call: () => Promise<T>, deadlineMs: number): Promise<T> {
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const pause = pauseAfter(error, attempt, Date.now() - startedAt, deadlineMs);
      if (pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Returns the milliseconds until the next attempt, or undefined when there is to be none. */
function pauseAfter(
  error: unknown,
  attempt: number,
  elapsedMs: number,
  deadlineMs: number,
): number | undefined {
  if (isFault(error, LOCKED)) {
    const pause = LOCKED_PAUSE_MS * (0.5 + 0.5 * Math.random());
    return elapsedMs + pause < deadlineMs ? pause : undefined;
  }
  const usual = PAUSES_MS[attempt - 1];
  if (usual === undefined || !isPassingFault(error)) return undefined;
  const pause = usual * (0.9 + 0.2 * Math.random());
  return elapsedMs + pause <= RETRY_WINDOW_MS ? pause : undefined;
}

/** Reports whether a fault passes by itself, as a lock does. */
export function isPassingFault(error: unknown): boolean {
  return isFault(error, LOCKED) || isFault(error, PASSING_FAULT);
}

/** Reports whether a fault has such a text. It looks at the chain of causes: a fault may come wrapped. */
function isFault(error: unknown, text: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  return text.test(error.message) || isFault(error.cause, text);
}
