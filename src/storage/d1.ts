/**
 * Calls D1 within a time limit, and retries after a transient fault: every call must be safe to run
 * twice. D1 itself never retries writes, reports its faults as text only, and sometimes stalls.
 */

import { withDeadline } from '../deadline.ts';
import { internalError } from '../http/errors.ts';
import { addToLogField, logError } from '../http/log.ts';

const D1_READ_DEADLINE_MS = 5_000;
const D1_WRITE_DEADLINE_MS = 10_000;
/** Each up to a tenth longer or shorter. */
const PAUSES_MS = [50, 150, 400, 700];
const RETRY_WINDOW_MS = 1_500;

/**
 * D1's list of errors (developers.cloudflare.com/d1/observability/debug-d1, as of August 2026) says
 * to retry these, unless a comment says something else. After an overload, or a reset for memory or
 * processor time, a retry would add to the load.
 */
const TRANSIENT_FAULTS = [
  'Network connection lost',
  'reset because its code was updated',
  'storage caused object to be reset',
  'Cannot resolve D1 DB due to transient issue on remote node',
  // Seen in the field, of a read replica.
  'Replica disconnected from primary',
  "Can't read from request stream because client disconnected",
  // The list says to send smaller requests, which these are already.
  'storage operation exceeded timeout which caused object to be reset',
  // Seen in the field, as `D1_ERROR: internal error; reference = ...`.
  'internal error',
  // Seen in the field.
  'this D1 DB instance is no longer active',
];
const TRANSIENT_FAULT = new RegExp(TRANSIENT_FAULTS.join('|'), 'i');

/** Reads within 5 s in all. Throws 500 `internal_error` with `Retry-After` when D1 fails. */
export function readD1<T>(call: () => Promise<T>): Promise<T> {
  return callWithin(D1_READ_DEADLINE_MS, 'D1 read', call);
}

/** Writes within 10 s in all, and throws as `readD1` does. */
export async function writeD1<T extends D1Result | D1Result[]>(call: () => Promise<T>): Promise<T> {
  const results = await callWithin(D1_WRITE_DEADLINE_MS, 'D1 write', call);
  const [first] = [results].flat();
  const bytes = first?.meta.size_after ?? 0;
  if (bytes >= WARNED_SHARE * MAX_DATABASE_BYTES) warnOfSize(bytes);
  return results;
}

/** The first and the last failure since D1's last success in this isolate. */
let failingSince = 0;
let failedAt = Number.NEGATIVE_INFINITY;
const FORGOTTEN_AFTER_MS = 60_000;

async function callWithin<T>(deadlineMs: number, name: string, call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  try {
    const result = await retryTransientFaults(call, deadlineMs, name);
    failedAt = Number.NEGATIVE_INFINITY;
    return result;
  } catch (error) {
    const now = Date.now();
    if (now - failedAt > FORGOTTEN_AFTER_MS) failingSince = now;
    failedAt = now;
    throw internalError(error, retryAfterSeconds(now - failingSince));
  } finally {
    addToLogField('database_ms', Date.now() - startedAt);
  }
}

const MIN_RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 30;

/** A quarter of the time that D1 has failed, and up to a half more, so that clients spread. */
function retryAfterSeconds(failedMs: number): number {
  const seconds = Math.min(Math.max(MIN_RETRY_SECONDS, failedMs / 4_000), MAX_RETRY_SECONDS);
  return Math.ceil(seconds * (1 + Math.random() / 2));
}

/** 10 GB, in decimal (developers.cloudflare.com/d1/platform/limits, as of April 2026). */
export const MAX_DATABASE_BYTES = 10_000_000_000;
const WARNED_SHARE = 0.7;
const WARNING_PAUSE_MS = 3_600_000;

let warnedAt = Number.NEGATIVE_INFINITY;

/** Once per hour and isolate. */
function warnOfSize(bytes: number): void {
  const now = Date.now();
  if (now - warnedAt < WARNING_PAUSE_MS) return;
  warnedAt = now;
  const percent = Math.floor((100 * bytes) / MAX_DATABASE_BYTES);
  logError('the database fills up', new Error(`${bytes} bytes are ${percent} % of D1's limit`));
}

async function retryTransientFaults<T>(
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
      const usual = PAUSES_MS[attempt];
      if (usual === undefined || !isTransientError(error)) throw error;
      const pause = usual * (0.9 + 0.2 * Math.random());
      if (Date.now() - startedAt + pause > RETRY_WINDOW_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Takes D1's error, or its text. */
export function isTransientError(error: unknown): boolean {
  return TRANSIENT_FAULT.test(String(error));
}
