/**
 * How a request is counted: by the isolate's pool, which is filled by calls of the client's object.
 *
 * A request that finds the pool empty makes a call of its own: it cannot rely on a call of another one,
 * which may be lost with its request. A call goes on when its request has been answered or broken off,
 * because what it brings is everybody's.
 */

import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import type { CounterName, RateCounter } from './counter.ts';
import type { Pool } from './pool.ts';
import type { Count } from './window.ts';

const DEADLINE_MS = 1_000;
const LOOK_EVERY_MS = 1;
/** A bound that holds while the clock stands still: in a Worker it advances on I/O only. */
const MAX_LOOKS = 1_000;

/** `uncounted`: the counter failed or stalled. `overloaded`: the client has flooded it. */
export type Counted = Count | { outcome: 'overloaded' } | { outcome: 'uncounted' };

type Failure = Exclude<Counted, Count>;

/** The counter of one request's client, with the isolate's pool of it. */
export type Source = {
  objects: DurableObjectNamespace<RateCounter>;
  counter: CounterName;
  client: string;
  limit: number;
  pool: Pool;
};

/** Counts a request whose pool has neither spent nor refused it. Never rejects, and takes about a second at most. */
export async function waitForCount(source: Source): Promise<Counted> {
  const { pool } = source;
  const startedAt = Date.now();
  // The pool has run dry with a call under way: the next lease is to be fetched earlier.
  if (pool.hasCalls) pool.raiseReserve();
  pool.addWaiting(1);
  try {
    for (let looks = 0; ; looks += 1) {
      // Nothing is left to ask for when the window is full: a call under way may still bring something.
      const wanted = pool.wantedNow(Date.now());
      const failure = wanted > 0 ? await fetchLease(source, wanted) : await pause();
      const hasTime = Date.now() - startedAt < DEADLINE_MS && looks < MAX_LOOKS;
      // A request whose own call has failed is refused too when the window is known to be full.
      const count = pool.count(Date.now(), hasTime && failure === undefined);
      if (count !== undefined) return count;
      if (failure !== undefined) return failure;
      if (!hasTime) return { outcome: 'uncounted' };
    }
  } finally {
    pool.addWaiting(-1);
  }
}

/** Calls the client's object, for a second at most, and adds what it grants to the pool. Never rejects. */
export async function fetchLease(
  { objects, counter, client, limit, pool }: Source,
  wanted: number,
): Promise<Failure | undefined> {
  const call = pool.begin(wanted, Date.now());
  const leasing = async () => {
    // A stub that has thrown stays broken: each call takes its own.
    const lease = await objects.get(objects.idFromName(client)).lease(counter, limit, wanted);
    const { granted, left, resetMs, window } = lease;
    // What an object returns keeps its call open until it is disposed of.
    lease[Symbol.dispose]();
    pool.end(call, { granted, left, resetMs, window }, Date.now());
  };
  try {
    await withDeadline(leasing(), DEADLINE_MS, 'rate counter');
    return undefined;
  } catch (error) {
    pool.end(call, undefined, Date.now());
    logFault('rate counter failed', error);
    return { outcome: isOverloaded(error) ? 'overloaded' : 'uncounted' };
  }
}

/** The platform marks the errors of an object that has more requests than it can serve. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}

function pause(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), LOOK_EVERY_MS));
}
