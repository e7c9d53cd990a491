/**
 * The Durable Object that adds up one client's requests over all isolates.
 *
 * An object loses its memory after some ten seconds without a call. It stores a window from the second report on: a
 * client of a few requests costs no row. A count that was not stored comes back with the isolate's next report.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  addReport,
  type CounterName,
  hasEnded,
  type ObjectWindow,
  type Reply,
  type Report,
  WINDOW_MS,
} from './window.ts';

/** The platform's clock may be ahead of the object's. An alarm that is set in the past fires at once, again and again. */
const MIN_ALARM_MS = 1_000;
const STORED_FROM_CHANGE = 2;

/**
 * The counters of one client. A deployment replaces Workers and objects one by one, so old and new versions call each
 * other. The signature of a method therefore never changes: a new signature is a new method.
 */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, ObjectWindow>();

  /** Adds an isolate's count, and returns the count of all others. It awaits nothing, so reports do not interleave. */
  report(counter: CounterName, limit: number, report: Report): Reply {
    const { kv } = this.ctx.storage;
    const known = this.#windows.get(counter) ?? kv.get<ObjectWindow>(counter);
    const { window, reply } = addReport(known, report, limit, Date.now());
    if (window === undefined) return reply;
    this.#windows.set(counter, window);
    if (window.changes >= STORED_FROM_CHANGE && window.changes !== known?.changes) {
      kv.put(counter, window);
      if (window.changes === STORED_FROM_CHANGE) this.#setAlarm(window.beganAt + WINDOW_MS);
    }
    return reply;
  }

  /** Deletes all windows once they have ended: an idle object stores nothing. */
  override async alarm(): Promise<void> {
    const windows = [...this.ctx.storage.kv.list<ObjectWindow>()].map(([, window]) => window);
    const running = windows.filter(({ beganAt }) => !hasEnded(beganAt, Date.now()));
    if (running.length === 0) await this.ctx.storage.deleteAll();
    else this.#setAlarm(Math.max(...running.map(({ beganAt }) => beganAt + WINDOW_MS)));
  }

  #setAlarm(at: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Math.max(at, Date.now() + MIN_ALARM_MS)));
  }
}
