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
  /** Where an answer of the feed came from. */
  cache?: 'memory' | 'edge' | 'database' | 'stale';
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
