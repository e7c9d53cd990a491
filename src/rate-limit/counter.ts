/**
 * The Durable Object that counts one client's requests.
 *
 * The memory of an object is lost after some ten seconds without a request, so a window has to be
 * stored; a stored hit is a row written, so not each one is: an eviction forgets at most four hits
 * and never that a window is full. A deploy replaces Workers and objects one by one, so that old and
 * new ones call each other: what `hit` takes and gives must not change, another form is another method.
 */

import { DurableObject } from 'cloudflare:workers';
import { endOf, hit, isDueToStore, isOver, pack, type Window } from './window.ts';

/** The two counters of a client: see README, Rate limits. */
export type CounterName = 'default' | 'ingest';

/** One for each client. */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, Window>();
  /** Counter → start of its window that is stored, with an alarm to delete it, in milliseconds since the epoch. */
  readonly #stored = new Map<CounterName, number>();

  /**
   * Counts one request against `limit` requests a window. Gives a `Count` as `pack` writes it. Nothing
   * is awaited between read and write, so the count is exact.
   */
  hit(counter: CounterName, limit: number): number {
    const { window, count } = hit(this.#windowOf(counter), limit, Date.now());
    this.#windows.set(counter, window);
    if (count.outcome === 'allowed' && isDueToStore(window, count)) this.#store(counter, window);
    return pack(count);
  }

  /** Deletes windows that are over; one that is not gets its alarm again. An idle object holds nothing. */
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
