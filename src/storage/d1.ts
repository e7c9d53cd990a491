/**
 * How this service calls D1.
 *
 * D1 retries reads by itself but never writes, reports its faults as text only, and stalls for
 * seconds at times: every call here has a deadline, and one that fails with a passing fault is
 * repeated. So only statements that may run twice may be called this way.
 */

import { withDeadline } from './deadline.ts';

const D1_READ_DEADLINE_MS = 5_000;
const D1_WRITE_DEADLINE_MS = 10_000;
/**
 * Pauses before the second to the fifth attempt, each up to a tenth longer or shorter. They spread
 * over most of the 1.5 s in which all repetitions begin: locally an import that applies thousands of
 * listings locks the database for about a second.
 */
const PAUSES_MS = [50, 150, 400, 700];
const RETRY_WINDOW_MS = 1_500;

/** A command-line program waits its turn this long while others use the database. */
const PATIENCE_MS = 60_000;
const PATIENT_PAUSE_MS = 50;

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

/** A call of a command-line program: as long as it takes, passing faults repeated for a minute. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isPassingFault(error) || Date.now() - startedAt > PATIENCE_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PATIENT_PAUSE_MS * (0.5 + Math.random())));
    }
  }
}

async function repeatPassingFaults<T>(call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  for (const pause of PAUSES_MS) {
    try {
      return await call();
    } catch (error) {
      const jittered = pause * (0.9 + 0.2 * Math.random());
      const isLate = Date.now() - startedAt + jittered > RETRY_WINDOW_MS;
      if (isLate || !isPassingFault(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, jittered));
    }
  }
  return call();
}

/** Whether a call may be repeated. Looks at the whole chain of causes: a fault may come wrapped. */
function isPassingFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return PASSING_FAULT.test(error.message) || isPassingFault(error.cause);
}
