/**
 * Calls D1 within a time limit, and retries after a transient error, so every call must be safe to
 * run twice. D1 itself never retries writes, reports its errors only as text, and sometimes stalls.
 */

import { withDeadline } from '../deadline.ts';
import { internalError } from '../http/errors.ts';
import { addToLogField, logError } from '../http/log.ts';

const D1_READ_DEADLINE_MS = 5_000;
const D1_WRITE_DEADLINE_MS = 10_000;
/** Mean pauses before the retries. Jitter makes each pause up to a tenth longer or shorter. */
const PAUSES_MS = [50, 150, 400, 700];
const RETRY_WINDOW_MS = 1_500;

/**
 * Errors after which a call is repeated: the errors that D1's documentation recommends to retry
 * (developers.cloudflare.com/d1/observability/debug-d1, as of August 2026), and the exceptions that are
 * explained below. D1 is not called again after an overload, or after a reset for memory or CPU time,
 * because a retry would add to the load.
 */
const TRANSIENT_ERRORS = [
  'Network connection lost',
  'reset because its code was updated',
  'storage caused object to be reset',
  'Cannot resolve D1 DB due to transient issue on remote node',
  // Observed in production, from a read replica.
  'Replica disconnected from primary',
  "Can't read from request stream because client disconnected",
  // The list recommends smaller requests, but these are already small.
  'storage operation exceeded timeout which caused object to be reset',
  // Observed in production, as `D1_ERROR: internal error; reference = ...`.
  'internal error',
  // Observed in production.
  'this D1 DB instance is no longer active',
];
const TRANSIENT_ERROR = new RegExp(TRANSIENT_ERRORS.join('|'), 'i');

/** Reads within 5 s, retries included. Throws 500 `internal_error` with `Retry-After` if D1 fails. */
export function readD1<T>(call: () => Promise<T>): Promise<T> {
  return callWithin(D1_READ_DEADLINE_MS, 'D1 read', call);
}

/** Writes within 10 s, retries included. Throws the same error as `readD1`. */
export async function writeD1<T extends D1Result | D1Result[]>(call: () => Promise<T>): Promise<T> {
  const results = await callWithin(D1_WRITE_DEADLINE_MS, 'D1 write', call);
  const [first] = [results].flat();
  const bytes = first?.meta.size_after ?? 0;
  if (bytes >= WARNING_SHARE * MAX_DATABASE_BYTES) warnOfSize(bytes);
  return results;
}

/** Times of the first and the last failure since D1's last success in this isolate. */
let failingSince = 0;
let failedAt = Number.NEGATIVE_INFINITY;
/** Maximum time between two failures of one series. */
const MAX_FAILURE_GAP_MS = 60_000;

async function callWithin<T>(deadlineMs: number, name: string, call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  try {
    const result = await retryTransientErrors(call, deadlineMs, name);
    failedAt = Number.NEGATIVE_INFINITY;
    return result;
  } catch (error) {
    const now = Date.now();
    if (now - failedAt > MAX_FAILURE_GAP_MS) failingSince = now;
    failedAt = now;
    throw internalError(error, chooseRetryAfter(now - failingSince));
  } finally {
    addToLogField('database_ms', Date.now() - startedAt);
  }
}

const MIN_RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 30;

/**
 * Returns the number of seconds for `Retry-After`, which grows with the time for which D1 has been
 * failing. Jitter spreads the clients' retries.
 */
function chooseRetryAfter(failedMs: number): number {
  const seconds = Math.min(Math.max(MIN_RETRY_SECONDS, failedMs / 4_000), MAX_RETRY_SECONDS);
  return Math.ceil(seconds * (1 + Math.random() / 2));
}

/** Maximum size of a database: 10 GB (developers.cloudflare.com/d1/platform/limits, as of April 2026). */
export const MAX_DATABASE_BYTES = 10_000_000_000;
const WARNING_SHARE = 0.7;
const WARNING_INTERVAL_MS = 3_600_000;

let warnedAt = Number.NEGATIVE_INFINITY;

/** Logs the size of the database, at most once per hour in each isolate. */
function warnOfSize(bytes: number): void {
  const now = Date.now();
  if (now - warnedAt < WARNING_INTERVAL_MS) return;
  warnedAt = now;
  const percent = Math.floor((100 * bytes) / MAX_DATABASE_BYTES);
  logError('the database fills up', new Error(`${bytes} bytes are ${percent} % of D1's limit`));
}

async function retryTransientErrors<T>(
  call: () => Promise<T>,
  deadlineMs: number,
  name: string,
): Promise<T> {
  const startedAt = Date.now();
  for (let attempt = 0; ; attempt += 1) {
    addToLogField('database_attempts', 1);
    try {
      return await withDeadline(call(), startedAt + deadlineMs - Date.now(), name);
    } catch (error) {
      const meanPauseMs = PAUSES_MS[attempt];
      if (meanPauseMs === undefined || !isTransientError(error)) throw error;
      const pauseMs = meanPauseMs * (0.9 + 0.2 * Math.random());
      if (Date.now() - startedAt + pauseMs > RETRY_WINDOW_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Whether a retry may succeed after an error. `error` is D1's error, or its text. */
export function isTransientError(error: unknown): boolean {
  return TRANSIENT_ERROR.test(String(error));
}
