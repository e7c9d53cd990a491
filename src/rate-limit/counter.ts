/**
 * The Durable Object that adds up one client's requests over all isolates. It loses its memory
 * after about ten seconds without a call, and stores a window from its second report on. An
 * isolate's next report restores a lost count.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  addReport,
  type CounterName,
  type ObjectWindow,
  type Report,
  WINDOW_MS,
} from './window.ts';

/** Clocks differ, and an alarm in the past fires at once, again and again. */
const MIN_ALARM_MS = 1_000;
const STORED_FROM_CHANGE = 2;

/** Versions of Workers and objects mix. Never change a method's signature: add a method. */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, ObjectWindow>();

  /** Awaits nothing, so that reports do not interleave. */
  report(counter: CounterName, limit: number, report: Report) {
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
    const windows = [...this.ctx.storage.kv.list<ObjectWindow>()];
    const endsAt = Math.max(...windows.map(([, { beganAt }]) => beganAt + WINDOW_MS));
    if (endsAt <= Date.now()) await this.ctx.storage.deleteAll();
    else this.#setAlarm(endsAt);
  }

  #setAlarm(at: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Math.max(at, Date.now() + MIN_ALARM_MS)));
  }
}
