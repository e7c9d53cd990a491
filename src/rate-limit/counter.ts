/**
 * The Durable Object of one client, which adds up the client's requests over all isolates. It loses
 * its memory after about ten seconds without a call, and stores its state from the second report
 * or the first place on. An isolate's next report restores lost counts.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  addReport,
  askForPlace,
  type CounterState,
  type Place,
  type PolicyName,
  type Reply,
  type Report,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** After the latest change. The window is empty before: an alarm may come early, clocks differ. */
const ALARM_MS = 2 * WINDOW_MS;

/** Versions of Workers and counters mix. Never change a method's signature: add a method. */
export class RateCounter extends DurableObject<Env> {
  readonly #states = new Map<PolicyName, CounterState>();

  /**
   * Adds a report, and decides about a place. Awaits nothing, so that messages do not interleave.
   * Stores a state under `POLICY spans`.
   */
  add(policy: PolicyName, report: Report, place?: Place): Reply {
    const { kv } = this.ctx.storage;
    const key = `${policy} spans`;
    const last = this.#states.get(policy) ?? kv.get<CounterState>(key);
    const now = Date.now();
    const { changed, ...reply } = place
      ? askForPlace(last, report, place, now)
      : addReport(last, report, now);
    if (!changed?.spans.size) return reply;
    this.#states.set(policy, changed);
    if (!reply.isCounted) return reply;
    if (kv.get(key) === undefined) this.#setAlarm(now);
    kv.put(key, changed);
    return reply;
  }

  /** Deletes everything once no state is needed any more: an idle counter stores nothing. */
  override async alarm(): Promise<void> {
    const stored = [...this.ctx.storage.kv.list<CounterState>()];
    const changedAt = Math.max(...stored.map(([, state]) => state.changedAt));
    if (changedAt + 1.5 * WINDOW_MS > Date.now()) return this.#setAlarm(changedAt);
    await this.ctx.storage.deleteAll();
  }

  #setAlarm(changedAt: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(changedAt + ALARM_MS));
  }
}
