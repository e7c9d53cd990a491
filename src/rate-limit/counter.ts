/**
 * The Durable Object that counts one client's requests.
 *
 * An object is evicted after some ten seconds without a call, so it stores its windows. A window is stored from its
 * second lease on. Until then only the isolate that got the first lease knows the window, and sends it with its next
 * call. If another isolate calls first, the first lease is forgotten. A full window is always stored.
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
 * The clock of the object's machine may be behind the platform's clock. The end of a window may then be in the past for
 * the platform, and an alarm that is set in the past fires at once, again and again.
 */
const MIN_ALARM_MS = 1_000;

/**
 * The counters of one client. A deployment replaces Workers and objects one by one, so old and new versions call each
 * other. The signature of a method therefore never changes: a new signature is a new method.
 */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, Window>();
  /** Counter → start of its stored window, which has an alarm, in milliseconds since the epoch. */
  readonly #stored = new Map<CounterName, number>();

  /**
   * Grants up to `wanted` requests of the `limit` per window, and debits them. The sum of the grants is exact: nothing
   * is awaited between the read and the write. `remembered` is the window that the isolate knows from its last call.
   * This object goes on from there if it has forgotten its own window.
   */
  grant(counter: CounterName, limit: number, wanted: number, remembered?: Window): Lease {
    const now = Date.now();
    const current = windowAt(now, this.#windowOf(counter), remembered);
    const { window, lease } = grant(current, limit, wanted, now);
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
