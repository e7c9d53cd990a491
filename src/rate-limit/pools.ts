/** The pools of this isolate, one for each client and counter that it has lately met. */

import { CallTime } from './call-time.ts';
import type { CounterName } from './counter.ts';
import { Pool } from './pool.ts';

/** Far more clients than one isolate meets in a window. */
const MAX_POOLS = 10_000;

/** A bounded number of pools: the one that was not asked for the longest goes first. */
export class Pools {
  readonly #pools = new Map<string, Pool>();
  readonly #callTime = new CallTime();

  /** Returns the pool of a client, an empty one for a client that is not known. */
  of(counter: CounterName, client: string, limit: number): Pool {
    const key = `${counter} ${client}`;
    const pool = this.#pools.get(key) ?? new Pool(limit, this.#callTime);
    this.#pools.delete(key);
    this.#pools.set(key, pool);
    if (this.#pools.size > MAX_POOLS) {
      const [oldest = key] = this.#pools.keys();
      this.#pools.delete(oldest);
    }
    return pool;
  }
}
