/**
 * The Durable Object that counts one client's requests.
 *
 * An object loses its memory after some ten seconds without a request, so a window has to be stored.
 * A stored hit costs a row written, so only every fifth one is stored: an eviction forgets at most
 * four hits, and never that a window is full.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  type Count,
  endOf,
  hit,
  isDueToStore,
  isOver,
  WINDOW_SECONDS,
  type Window,
} from './window.ts';

/** The two counters of a client. */
export type CounterName = 'default' | 'ingest';

/** The factor of `remaining` in the answers of `hit`: above any `resetMs`. */
const DIGITS_OF_RESET = 2 * WINDOW_SECONDS * 1_000;

/**
 * The counters of one client. A deployment replaces Workers and objects one by one, so that old and
 * new ones call each other: the form of a method must not change, and another form is another method.
 */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, Window>();
  /** Counter → start of its stored window, which has an alarm, in milliseconds since the epoch. */
  readonly #stored = new Map<CounterName, number>();

  /**
   * Counts one request against `limit` requests per window. The count is exact: nothing is awaited
   * between read and write.
   */
  count(counter: CounterName, limit: number): Count {
    const { window, count } = hit(this.#windowOf(counter), limit, Date.now());
    this.#windows.set(counter, window);
    if (count.outcome === 'allowed' && isDueToStore(window, count)) this.#store(counter, window);
    return count;
  }

  /** Answers Workers of version 1.0, which read a count in digits. It goes with the next release. */
  hit(counter: CounterName, limit: number): number {
    const { outcome, remaining, resetMs } = this.count(counter, limit);
    return outcome === 'refused' ? -resetMs : remaining * DIGITS_OF_RESET + resetMs;
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
    await this.ctx.storage.setAlarm(Math.max(...ends));
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
    this.ctx.waitUntil(this.ctx.storage.setAlarm(endOf(window)));
  }
}
