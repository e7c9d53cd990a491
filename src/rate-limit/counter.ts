/**
 * The Durable Object that adds up one client's requests across all isolates. Its memory is lost after
 * about ten seconds without a call, so it stores its state from the second report or the first permit
 * onwards. If counts are lost before that, the next report from their isolate contains them again.
 */

import { DurableObject } from 'cloudflare:workers';
import {
  acquirePermit,
  addReport,
  type CounterState,
  type PermitRequest,
  type PolicyName,
  type Reply,
  type Report,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** Delay of the alarm after the last change: twice the window, because an alarm can fire early. */
const ALARM_DELAY_MS = 2 * WINDOW_MS;

/**
 * During a deployment, Workers and counters of two releases call each other. Never change the
 * signature of a method. Add another method instead.
 */
export class RateCounter extends DurableObject<Env> {
  readonly #states = new Map<PolicyName, CounterState>();

  /**
   * Adds a report, and decides about a permit if one is requested. Stores the state under
   * `POLICY spans`. Awaits nothing, so that calls cannot interleave.
   */
  add(policy: PolicyName, report: Report, permit?: PermitRequest): Reply {
    const { kv } = this.ctx.storage;
    const key = `${policy} spans`;
    const state = this.#states.get(policy) ?? kv.get<CounterState>(key);
    const now = Date.now();
    const { nextState, ...reply } = permit
      ? acquirePermit(state, report, permit, now)
      : addReport(state, report, now);
    if (!nextState?.spans.size) return reply;
    this.#states.set(policy, nextState);
    if (!reply.isCounted) return reply;
    if (kv.get(key) === undefined) this.#setAlarm(now);
    kv.put(key, nextState);
    return reply;
  }

  /** Deletes all states once their windows have ended, so that an idle counter stores nothing. */
  override async alarm(): Promise<void> {
    const states = [...this.ctx.storage.kv.list<CounterState>()];
    const changedAt = Math.max(...states.map(([, state]) => state.changedAt));
    // The state has changed since the alarm was set, or the alarm fired early.
    if (changedAt + 1.5 * WINDOW_MS > Date.now()) return this.#setAlarm(changedAt);
    await this.ctx.storage.deleteAll();
  }

  #setAlarm(changedAt: number): void {
    this.ctx.waitUntil(this.ctx.storage.setAlarm(changedAt + ALARM_DELAY_MS));
  }
}
