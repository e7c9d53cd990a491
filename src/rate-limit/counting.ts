/**
 * Counts a request by the isolate's pool, which is filled by calls of the client's object.
 *
 * A call goes on when its request has been answered or broken off, because what it brings is everybody's.
 * A request cannot wait for the promise of another one. It looks at the pool from time to time while a
 * call under way may bring it something, and makes a call of its own when that takes too long: the other
 * one may be lost with its request.
 */

import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import type { CounterName, RateCounter } from './counter.ts';
import { firstLease } from './lease.ts';
import type { Pool } from './pool.ts';
import { type Turns, wait } from './turns.ts';
import type { Count } from './window.ts';

const DEADLINE_MS = 1_000;
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
  turns: Turns;
  /** Keeps work going when the request has been answered. */
  inBackground: (work: Promise<unknown>) => void;
};

/** Counts a request whose pool has neither spent nor refused it. Never rejects, and takes about a second at most. */
export async function waitForCount(source: Source): Promise<Counted> {
  const { pool, turns } = source;
  const startedAt = Date.now();
  pool.beginWaiting(startedAt);
  try {
    for (let looks = 0; ; looks += 1) {
      const now = Date.now();
      const wanted = pool.wantedNow(looks, now);
      const beside = wanted === 0 && looks === 1 ? pool.wantedBeside(now) : 0;
      if (beside > 0) source.inBackground(fetchLease(source, beside));
      const failure =
        wanted > 0 ? await fetchLease(source, wanted) : await turns.pause(pool.pauseMs(now));
      const hasTime = Date.now() - startedAt < DEADLINE_MS && looks < MAX_LOOKS;
      // A request whose own call has failed is refused too when the window is known to be full.
      const count = pool.count(Date.now(), hasTime && failure === undefined);
      if (count !== undefined) return count;
      if (failure !== undefined) return failure;
      if (!hasTime) return { outcome: 'uncounted' };
    }
  } finally {
    pool.endWaiting();
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

/** Opens the client's next window once this one is over, so that a steady client need not wait for it. */
export async function openNextWindow(source: Source, inMs: number): Promise<void> {
  await wait(inMs);
  if (source.pool.isIdle(Date.now())) await fetchLease(source, firstLease(source.limit));
}

/** The platform marks the errors of an object that has more requests than it can serve. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}
