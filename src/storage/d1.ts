/**
 * Calls D1 within a time limit, and repeats a call that fails with a passing fault.
 *
 * D1 retries reads by itself but never writes, reports its faults as text only, and stalls for seconds at times. Every
 * call must be safe to run twice, because it may be repeated here.
 */

import { internalError } from '../http/errors.ts';
import { logFault, noteMore, timed } from '../http/log.ts';
import { withDeadline } from './deadline.ts';

const D1_READ_DEADLINE_MS = 5_000;
const D1_WRITE_DEADLINE_MS = 10_000;
/**
 * Pauses before the second to the fifth attempt, each up to a tenth longer or shorter. The last attempt begins within
 * `RETRY_WINDOW_MS`.
 */
const PAUSES_MS = [50, 150, 400, 700];
const RETRY_WINDOW_MS = 1_500;
/** The longest pause before the next attempt at a locked database. A pause is up to a half shorter. */
const LOCKED_PAUSE_MS = 200;

/**
 * The texts of passing faults, other than locks. D1's list of errors
 * (developers.cloudflare.com/d1/observability/debug-d1, as of August 2026) says to retry them. A text that is not in
 * this list is marked as seen in the field.
 */
const PASSING_FAULTS = [
  'Network connection lost',
  'reset because its code was updated',
  // The end of two texts: one of the storage, one of a database that starts up.
  'storage caused object to be reset',
  'Cannot resolve D1 DB due to transient issue on remote node',
  // Seen in the field, of a read replica.
  'Replica disconnected from primary',
  "Can't read from request stream because client disconnected",
  // Caused by a long queue, which a new object has not. No query of this service takes so long by itself.
  'storage operation exceeded timeout which caused object to be reset',
  // Seen in the field, as `D1_ERROR: internal error; reference = ...`.
  'internal error',
  // Seen in the field.
  'this D1 DB instance is no longer active',
];
const PASSING_FAULT = new RegExp(PASSING_FAULTS.join('|'), 'i');

/**
 * The texts of an overloaded database, from the same list. Such a call is not repeated: another attempt would add to
 * the load, and a query that exceeded a limit would exceed it again.
 */
const OVERLOADED = /overloaded|exceeded its memory limit|exceeded its CPU time limit/i;

/**
 * The texts of a database that another program has locked. A local import locks it for seconds when it applies
 * thousands of listings. The deployed D1 is one process, and has no such lock.
 */
const LOCKED = /SQLITE_BUSY|database is locked|Failed to get session commit token/i;

/** Reads within 5 s in all. Throws 500 `internal_error` with `Retry-After` when D1 fails. */
export function readD1<T>(call: () => Promise<T>): Promise<T> {
  return callWithin(D1_READ_DEADLINE_MS, 'D1 read', call);
}

/** Writes within 10 s in all, and throws as `readD1` does. The write must be safe to run twice. */
export async function writeD1<T extends D1Result | D1Result[]>(call: () => Promise<T>): Promise<T> {
  const answer = await callWithin(D1_WRITE_DEADLINE_MS, 'D1 write', call);
  const [result] = [answer].flat();
  if (result !== undefined) warnOfSize(result.meta.size_after);
  return answer;
}

/** The time of the first failure since D1 last answered this isolate. */
let failingSince: number | undefined;

/** Calls within a time limit. Adds the time and the attempts to the request's line in the log. */
async function callWithin<T>(deadlineMs: number, name: string, call: () => Promise<T>): Promise<T> {
  try {
    const answer = await timed('database_ms', () =>
      withDeadline(repeatPassingFaults(call, deadlineMs), deadlineMs, name),
    );
    failingSince = undefined;
    return answer;
  } catch (error) {
    failingSince ??= Date.now();
    throw internalError(error, retryAfterSeconds(Date.now() - failingSince));
  }
}

const MIN_RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 30;

/**
 * Returns the `Retry-After` of a 500, once D1 has failed for `lastedMs`: a quarter of this time, between 2 and 30 s,
 * and up to a half more by chance, so that clients do not all return at the same time.
 */
function retryAfterSeconds(lastedMs: number): number {
  const seconds = Math.min(Math.max(MIN_RETRY_SECONDS, lastedMs / 4_000), MAX_RETRY_SECONDS);
  return Math.ceil(seconds * (1 + Math.random() / 2));
}

/**
 * A database holds 10 GB, which D1 counts in decimal (developers.cloudflare.com/d1/platform/limits, as of April 2026).
 */
export const MAX_DATABASE_BYTES = 10_000_000_000;
const WARNED_SHARE = 0.7;
const WARNING_PAUSE_MS = 3_600_000;

let warnedAt = Number.NEGATIVE_INFINITY;

/** Logs that the database fills up, once per hour and isolate. Each result of D1 has the database's size. */
function warnOfSize(bytes: number): void {
  if (!(bytes >= WARNED_SHARE * MAX_DATABASE_BYTES)) return;
  const now = Date.now();
  if (now - warnedAt < WARNING_PAUSE_MS) return;
  warnedAt = now;
  const percent = Math.floor((100 * bytes) / MAX_DATABASE_BYTES);
  logFault('the database fills up', new Error(`${bytes} bytes are ${percent} % of D1's limit`));
}

async function repeatPassingFaults<T>(call: () => Promise<T>, deadlineMs: number): Promise<T> {
  const startedAt = Date.now();
  for (let attempt = 1; ; attempt += 1) {
    noteMore('database_attempts', 1);
    try {
      return await call();
    } catch (error) {
      const pause = pauseAfter(error, attempt, Date.now() - startedAt, deadlineMs);
      if (pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Returns the milliseconds until the next attempt, or undefined when the call is not repeated. */
function pauseAfter(
  error: unknown,
  attempt: number,
  elapsedMs: number,
  deadlineMs: number,
): number | undefined {
  if (hasText(error, LOCKED)) {
    const pause = LOCKED_PAUSE_MS * (0.5 + 0.5 * Math.random());
    return elapsedMs + pause < deadlineMs ? pause : undefined;
  }
  const usual = PAUSES_MS[attempt - 1];
  if (usual === undefined || !isPassingFault(error)) return undefined;
  const pause = usual * (0.9 + 0.2 * Math.random());
  return elapsedMs + pause <= RETRY_WINDOW_MS ? pause : undefined;
}

/** Reports whether an error is a passing fault: one that another attempt may not meet. */
export function isPassingFault(error: unknown): boolean {
  if (hasText(error, OVERLOADED)) return false;
  return hasText(error, LOCKED) || hasText(error, PASSING_FAULT);
}

/** Reports whether the message of an error, or of one of its causes, matches: Drizzle wraps the errors of D1. */
function hasText(error: unknown, text: RegExp): boolean {
  if (!(error instanceof Error)) return false;
  return text.test(error.message) || hasText(error.cause, text);
}
