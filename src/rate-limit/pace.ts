/** The speed at which a client spends its leases: it decides when the next one is fetched, and its size. Pure. */

import { largestLease } from './lease.ts';

/**
 * The reserve, as a part of the largest lease. A small one makes few calls, and a large one lets a fast
 * client wait less. It grows by this each time that the pool runs dry with a call under way.
 */
const RESERVE_STEP = 1 / 10;
/**
 * A client that has waited so often is faster than its leases. They are halved, and fetched half a call apart, so
 * that it waits more often but never long.
 */
const TIMES_DRY_UNTIL_FAST = 3;
const PART_OF_FAST_LEASE = 1 / 2;
/** A smaller lease is not worth a call beside another one. */
const SMALLEST_PART_BESIDE = 3 / 10;

/** The pace of one client, whose limit is that many requests per window. */
export class Pace {
  readonly #largest: number;
  #timesDry = 0;

  constructor(limit: number) {
    this.#largest = largestLease(limit);
  }

  /** A request had to wait although a call was under way. */
  ranDry(): void {
    this.#timesDry += 1;
  }

  /** Reports whether the client is faster than its leases. */
  get isFast(): boolean {
    return this.#timesDry >= TIMES_DRY_UNTIL_FAST;
  }

  /** The number of held requests at which the next lease is fetched. */
  get reserve(): number {
    const part = this.isFast ? PART_OF_FAST_LEASE : RESERVE_STEP * (1 + this.#timesDry);
    return Math.floor(this.#largest * part);
  }

  /** The number of requests that one call asks for at most. */
  get largestAsk(): number {
    return this.isFast
      ? Math.max(1, Math.floor(this.#largest * PART_OF_FAST_LEASE))
      : this.#largest;
  }

  /** The least number of requests that is worth a call beside another one. */
  get smallestBeside(): number {
    return this.#largest * SMALLEST_PART_BESIDE;
  }
}
