/**
 * The request that the running code works for. The platform carries it across every await and into
 * `waitUntil`, so that a fault deep in a store is logged under the id of its request, and each floor
 * adds what it knows to the one line that the log has of the request.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { ErrorCode } from './errors.ts';

/** The parts of a request's line in the log that its answer is not enough to tell. */
export type Notes = {
  error_code?: ErrorCode;
  /** Why a bearer token was refused: jose's code, and the claim at fault. */
  token_fault?: string;
  /** The source of an answer of the feed. */
  cache?: 'memory' | 'edge' | 'database' | 'stale';
  /** Why an API key was refused. */
  key_fault?: string;
  /** The caller: the key's name, `api-key` for a key that opens everything, `bearer`. */
  caller?: string;
  /** The outcome of posting an event. */
  outcome?: 'accepted' | 'replayed' | 'conflict';
  /** Time that calls of the rate counter took. */
  counter_ms?: number;
  /** Time that calls of D1 took, all of them together: calls side by side may take more than the request. */
  database_ms?: number;
  /** Attempts at calls of D1: more than there are calls when passing faults were repeated. */
  database_attempts?: number;
};

const contexts = new AsyncLocalStorage<{ requestId: string; notes: Notes }>();

/** Runs the work for a request, with the notes that the work will add to. */
export function runForRequest<T>(requestId: string, notes: Notes, work: () => T): T {
  return contexts.run({ requestId, notes }, work);
}

/** Returns the id of the present request; `undefined` outside of any. */
export function currentRequestId(): string | undefined {
  return contexts.getStore()?.requestId;
}

/** Adds to the present request's line in the log. A later note replaces an earlier one of its name. */
export function note(notes: Notes): void {
  const context = contexts.getStore();
  if (context !== undefined) Object.assign(context.notes, notes);
}

/** The notes that are sums. */
type Sum = 'counter_ms' | 'database_ms' | 'database_attempts';

/** Adds to a sum of the present request's line. */
export function noteMore(sum: Sum, more: number): void {
  const context = contexts.getStore();
  if (context !== undefined) context.notes[sum] = (context.notes[sum] ?? 0) + more;
}

/** Does the work, and adds the time that it took. Worker clocks advance on I/O only, so that is what is measured. */
export async function timed<T>(
  sum: 'counter_ms' | 'database_ms',
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  try {
    return await work();
  } finally {
    noteMore(sum, Date.now() - startedAt);
  }
}
