/**
 * The Durable Object of one client, which adds up the client's requests over all isolates. It loses
 * its memory after about ten seconds without a call, and stores its state from the second report
 * on. An isolate's next report restores lost counts.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  addReport,
  type CounterState,
  type PolicyName,
  type Reply,
  type Report,
  SPAN_MS,
  totalOf,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** After the latest change. The window is empty before: an alarm may come early, clocks differ. */
const ALARM_MS = 2 * WINDOW_MS;

/** Versions of Workers and counters mix. Never change a method's signature: add a method. */
export class RateCounter extends DurableObject<Env> {
  readonly #states = new Map<PolicyName, CounterState>();

  /**
   * Awaits nothing, so that reports do not interleave. Stores a state under `POLICY spans`. Version
   * 1.0.0 stored another form under `POLICY`. Every form has a `beganAt`, for all alarms.
   */
  add(policy: PolicyName, limit: number, report: Report): Reply {
    const last = this.#stateOf(policy);
    const { reply, changed } = addReport(last, report, limit, Date.now());
    if (changed === undefined) return reply;
    this.#states.set(policy, changed);
    if (!changed.isStored) return reply;
    this.ctx.storage.kv.put(`${policy} spans`, changed);
    if (last?.isStored !== true) this.#setAlarm(changed.beganAt);
    return reply;
  }

  #stateOf(policy: PolicyName): CounterState | undefined {
    return this.#states.get(policy) ?? this.ctx.storage.kv.get<CounterState>(`${policy} spans`);
  }

  /**
   * There for isolates of 1.0.0 alone: goes with the release after 2.0.0. Their record is of one
   * window, and has one span, whatever age its later reports tell.
   */
  report(
    policy: PolicyName,
    limit: number,
    former: { record: string; count: number; ageMs: number; wantsPlace: boolean },
  ) {
    const { record, count, ageMs, wantsPlace } = former;
    const spans = this.#stateOf(policy)?.spans.entries() ?? [];
    const known = [...spans].find(([, records]) => records.has(record));
    const [span] = known ?? [Math.floor((Date.now() - ageMs) / SPAN_MS)];
    const report = { record, counts: new Map([[span, count]]), wantsPlace };
    const { isGranted, others } = this.add(policy, limit, report);
    return { isGranted, own: count, others: totalOf(others), ageMs };
  }

  /** Deletes everything once no state is needed any more: an idle counter stores nothing. */
  override async alarm(): Promise<void> {
    const stored = [...this.ctx.storage.kv.list<{ beganAt: number }>()];
    const changedAt = Math.max(...stored.map(([, { beganAt }]) => beganAt));
    if (changedAt + 1.5 * WINDOW_MS > Date.now()) return this.#setAlarm(changedAt);
    this.#states.clear();
    await this.ctx.storage.deleteAll();
  }

  #setAlarm(changedAt: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(changedAt + ALARM_MS));
  }
}
