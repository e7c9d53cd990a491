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
/**
 * A window is kept for a minute after its end. Otherwise an isolate that met the client late in the
 * window would begin a new one with its next report, and the client would get its limit again.
 */
const KEPT_MS = 2 * WINDOW_MS;

/**
 * Stored under `COUNTER windows`. `beganAt` is the latest begin of a window. Version 1.0.0 stored
 * one window, `{beganAt, …}`, under the name of the counter: both alarms read both.
 */
type StoredWindows = { beganAt: number; windows: readonly ObjectWindow[] };

/** Versions of Workers and objects mix. Never change a method's signature: add a method. */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<CounterName, readonly ObjectWindow[]>();

  /** Awaits nothing, so that reports do not interleave. */
  report(counter: CounterName, limit: number, report: Report) {
    const { kv } = this.ctx.storage;
    const key = `${counter} windows`;
    const known = this.#windows.get(counter) ?? kv.get<StoredWindows>(key)?.windows ?? [];
    const { windows, changed, reply } = addReport(known, report, limit, Date.now());
    this.#windows.set(counter, windows);
    if (changed !== undefined && changed.changes >= STORED_FROM_CHANGE) {
      const beganAt = Math.max(...windows.map((window) => window.beganAt));
      kv.put<StoredWindows>(key, { beganAt, windows });
      if (changed.changes === STORED_FROM_CHANGE) this.#setAlarm(changed.beganAt + KEPT_MS);
    }
    return reply;
  }

  /** Deletes everything once no window is needed any more: an idle object stores nothing. */
  override async alarm(): Promise<void> {
    const stored = [...this.ctx.storage.kv.list<StoredWindows>()];
    const endsAt = Math.max(...stored.map(([, { beganAt }]) => beganAt + KEPT_MS));
    if (endsAt <= Date.now()) await this.ctx.storage.deleteAll();
    else this.#setAlarm(endsAt);
  }

  #setAlarm(at: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Math.max(at, Date.now() + MIN_ALARM_MS)));
  }
}
