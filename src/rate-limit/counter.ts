/**
 * The Durable Object that counts one client's requests.
 *
 * An object loses its memory after some ten seconds without a call, so a window has to be stored. A
 * window that has granted its first lease only is not: an eviction forgets a first lease at most, and
 * never that a window is full.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  type CounterName,
  endOf,
  grant,
  isDueToStore,
  isOver,
  type Lease,
  type Window,
} from './lease.ts';

/**
 * The object may wake on a machine whose clock is behind. An alarm at the end of its window may then
 * lie in the past of the platform's clock, which would ring it again and again.
 */
const MIN_ALARM_MS = 1_000;

/**
 * The counters of one client. A deployment replaces Workers and objects one by one, so that old and
 * new ones call each other: the form of a method must not change, and another form is another method.
 */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, Window>();
  /** Counter → start of its stored window, which has an alarm, in milliseconds since the epoch. */
  readonly #stored = new Map<CounterName, number>();

  /**
   * Grants up to `wanted` requests of the `limit` per window, and debits them. The sum of the grants
   * is exact: nothing is awaited between read and write.
   */
  lease(counter: CounterName, limit: number, wanted: number): Lease {
    const { window, lease } = grant(this.#windowOf(counter), limit, wanted, Date.now());
    this.#windows.set(counter, window);
    if (lease.granted > 0 && isDueToStore(window, limit)) this.#store(counter, window);
    return lease;
  }

  /** Deletes windows that are over, and sets an alarm for the rest. An idle object stores nothing. */
  override async alarm(): Promise<void> {
    const now = Date.now();
    const { kv } = this.ctx.storage;
    const stored = [...kv.list<Window>()];
    const ends = stored
      .filter(([, window]) => !isOver(window, now))
      .map(([, window]) => endOf(window));
    if (ends.length === 0) {
      await this.ctx.storage.deleteAll();
      return;
    }
    for (const [counter, window] of stored) {
      if (isOver(window, now)) kv.delete(counter);
    }
    await this.#setAlarm(Math.max(...ends));
  }

  #windowOf(counter: CounterName): Window | undefined {
    const known = this.#windows.get(counter);
    if (known !== undefined) return known;
    const stored = this.ctx.storage.kv.get<Window>(counter);
    if (stored !== undefined) this.#stored.set(counter, stored.startedAt);
    return stored;
  }

  #store(counter: CounterName, window: Window): void {
    this.ctx.storage.kv.put(counter, window);
    if (this.#stored.get(counter) === window.startedAt) return;
    this.#stored.set(counter, window.startedAt);
    this.ctx.waitUntil(this.#setAlarm(endOf(window)));
  }

  #setAlarm(at: number): Promise<void> {
    return this.ctx.storage.setAlarm(Math.max(at, Date.now() + MIN_ALARM_MS));
  }
}
