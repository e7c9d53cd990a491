/**
 * The Durable Object of one client, which adds up the client's requests over all isolates. It loses
 * its memory after about ten seconds without a call, and stores a window from its second report on.
 * An isolate's next report restores a lost count.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  addReport,
  type CounterWindow,
  type PolicyName,
  type Reply,
  type Report,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** Clocks differ, and an alarm in the past fires at once, again and again. */
const MIN_ALARM_MS = 1_000;
const STORED_FROM_CHANGE = 2;
/** A window is kept for a minute after its end: the next one needs its counts. */
const KEPT_MS = 2 * WINDOW_MS;

/** Versions of Workers and counters mix. Never change a method's signature: add a method. */
export class RateCounter extends DurableObject<Env> {
  readonly #windows = new Map<PolicyName, CounterWindow>();

  /**
   * Awaits nothing, so that reports do not interleave. Stores a window under `POLICY window`.
   * Version 1.0.0 stored another form under `POLICY`. Every form has a `beganAt`, for all alarms.
   */
  count(policy: PolicyName, limit: number, report: Report): Reply {
    const { kv } = this.ctx.storage;
    const key = `${policy} window`;
    const last = this.#windows.get(policy) ?? kv.get<CounterWindow>(key);
    const { reply, changed } = addReport(last, report, limit, Date.now());
    if (changed === undefined) return reply;
    this.#windows.set(policy, changed);
    if (changed.changes >= STORED_FROM_CHANGE) kv.put(key, changed);
    if (changed.changes === STORED_FROM_CHANGE) this.#setAlarm(changed.beganAt + KEPT_MS);
    return reply;
  }

  /** The method that isolates of version 1.0.0 call. */
  report(policy: PolicyName, limit: number, former: Omit<Report, 'beganAt'> & { ageMs: number }) {
    const now = Date.now();
    const report = { beganAt: now - former.ageMs, ...former };
    const { beganAt, ...reply } = this.count(policy, limit, report);
    return { ...reply, ageMs: now - beganAt };
  }

  /** Deletes everything once no window is needed any more: an idle counter stores nothing. */
  override async alarm(): Promise<void> {
    const stored = [...this.ctx.storage.kv.list<{ beganAt: number }>()];
    const keptUntil = Math.max(...stored.map(([, { beganAt }]) => beganAt + KEPT_MS));
    if (keptUntil <= Date.now()) await this.ctx.storage.deleteAll();
    else this.#setAlarm(keptUntil);
  }

  #setAlarm(at: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Math.max(at, Date.now() + MIN_ALARM_MS)));
  }
}
