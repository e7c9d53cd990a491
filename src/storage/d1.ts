/**
 * How this service calls D1.
 *
 * D1 retries reads by itself but never writes, reports its faults as text only, and stalls for
 * seconds at times: every call here has a deadline, and one that fails with a passing fault is
 * repeated. So only statements that may run twice may be called this way.
 */

import { withDeadline } from './deadline.ts';

export const D1_READ_DEADLINE_MS = 5_000;
export const D1_WRITE_DEADLINE_MS = 10_000;
const MAX_ATTEMPTS = 5;
/** All repetitions begin within this time of the first attempt. */
const RETRY_WINDOW_MS = 1_500;
const FIRST_PAUSE_MS = 25;

/** Texts of faults that pass by themselves. */
const PASSING_FAULT =
  /SQLITE_BUSY|database is locked|Network connection lost|storage caused object to be reset|reset because its code was updated|internal error|Failed to get session commit token/i;

/** A read: 5 s in all, passing faults repeated. */
export function readD1<T>(call: () => Promise<T>): Promise<T> {
  return withDeadline(repeatPassingFaults(call), D1_READ_DEADLINE_MS, 'D1 read');
}

/** A write that may run twice: 10 s in all, passing faults repeated. */
export function writeD1<T>(call: () => Promise<T>): Promise<T> {
  return withDeadline(repeatPassingFaults(call), D1_WRITE_DEADLINE_MS, 'D1 write');
}

async function repeatPassingFaults<T>(call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const pause = FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random());
      const isLast = attempt === MAX_ATTEMPTS || Date.now() - startedAt + pause > RETRY_WINDOW_MS;
      if (isLast || !isPassing(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Looks at the whole chain of causes: Drizzle wraps what a single statement throws. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return PASSING_FAULT.test(error.message) || isPassing(error.cause);
}
