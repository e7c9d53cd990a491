/**
 * The Durable Object that counts one client's requests.
 *
 * An object loses its memory after some ten seconds without a call, so a window has to be stored. A
 * window that has granted its first lease only is not stored: the isolate that got the lease remembers
 * the window, and tells it with its next call. When the client has changed its isolate by then, the first
 * lease is forgotten. A full window never is.
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
  windowAt,
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
   * is exact: nothing is awaited between read and write. `remembered` is the latest window that the isolate
   * knows, as of its last call. It counts where this object has forgotten its window.
   */
  grant(counter: CounterName, limit: number, wanted: number, remembered?: Window): Lease {
    const now = Date.now();
    const current = windowAt(now, this.#windowOf(counter), remembered);
    const { window, lease } = grant(current, limit, wanted, now);
    this.#windows.set(counter, window);
    if (lease.granted > 0 && isDueToStore(window, limit)) this.#store(counter, window);
    return lease;
  }

  /**
   * Does the same for a Worker of the version before, which tells no window. It goes once no deployed Worker
   * calls it.
   */
  lease(counter: CounterName, limit: number, wanted: number): Lease {
    return this.grant(counter, limit, wanted);
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
