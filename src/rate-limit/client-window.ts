/**
 * The isolate's part of the rate limit: one client's requests in the current window, which this
 * isolate reports to the client's counter (counter.ts). Most requests pass at once. While many
 * requests are unconfirmed, a request reserves a place and asks the counter for it.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { addToLogField, logFault } from '../http/log.ts';
import type { RateCounter } from './counter.ts';
import { type PolicyName, type Reply, WINDOW_MS, WINDOW_SECONDS } from './counter-arithmetic.ts';

/** An isolate reports each twelfth of the limit. From an unconfirmed fifth on, requests ask. */
const REPORT_DIVISOR = 12;
const UNCONFIRMED_DIVISOR = 5;
/** Caps of the two. With them, 20 isolates exceed a limit of 6,000 by 8 %; without, by 137 %. */
const MAX_UNSENT = 25;
const MAX_UNCONFIRMED = 60;
/** After this time, the counter is failing. */
const CALL_DEADLINE_MS = 300;
/** Between two reports to a failing counter. */
const PROBE_PAUSE_MS = 1_000;

/** `client` is an address, unless `isKey`: then it names the key. */
type Quota = { client: string; isKey: boolean; policy: PolicyName; limit: number };

/** `overloaded`: the client floods its own counter. */
type Verdict = 'passed' | 'rejected' | 'overloaded';

/** A window, as this isolate knows it. */
const beginWindow = (now: number) => ({
  /** The random id of `Report`. */
  record: crypto.randomUUID(),
  beganAt: now,
  passed: 0,
  /** Requests that wait for the counter. */
  reserved: 0,
  /** The count of the latest report, perhaps not received yet. */
  sent: 0,
  /** The greatest count that the counter has confirmed. */
  confirmed: 0,
  /** The requests of all other isolates, from the counter's replies. */
  others: 0,
});

type Window = ReturnType<typeof beginWindow>;

/** The current window of one client under one policy. Times are milliseconds since the epoch. */
export class ClientWindow {
  readonly #quota: Quota;
  readonly #maxUnsent: number;
  readonly #maxUnconfirmed: number;
  #window: Window;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** The first call since the latest reply. Infinite without one, negative after a fault. */
  #silentSince = Number.POSITIVE_INFINITY;

  constructor(quota: Quota, now: number) {
    const shareOf = (divisor: number) => Math.max(1, Math.floor(quota.limit / divisor));
    this.#quota = quota;
    this.#maxUnsent = Math.min(shareOf(REPORT_DIVISOR), MAX_UNSENT);
    this.#maxUnconfirmed = Math.min(shareOf(UNCONFIRMED_DIVISOR), MAX_UNCONFIRMED);
    this.#window = beginWindow(now);
  }

  /** The next request begins another window. A clock that was set back by a window ends it too. */
  hasEnded(now: number): boolean {
    return Math.abs(now - this.#window.beganAt) >= WINDOW_MS;
  }

  /** After the end, the state of a new window. */
  stateAt(now: number): { remaining: number; resetSeconds: number } {
    const { limit } = this.#quota;
    if (this.hasEnded(now)) return { remaining: limit, resetSeconds: WINDOW_SECONDS };
    const { beganAt, passed, reserved, others } = this.#window;
    const remaining = Math.max(0, limit - passed - reserved - others);
    const resetSeconds = Math.max(1, Math.ceil((beganAt + WINDOW_MS - now) / 1_000));
    return { remaining, resetSeconds };
  }

  /** Decides about a request. Only one that asks for a place waits, at most 300 ms. Never throws. */
  admit({ env, executionCtx }: Context<AppEnv>, now: number): Verdict | Promise<Verdict> {
    if (this.hasEnded(now)) this.#window = beginWindow(now);
    const { passed, reserved, sent, confirmed, others } = this.#window;
    if (passed + reserved + others >= this.#quota.limit) return 'rejected';

    const isFailing = now > this.#silentSince + CALL_DEADLINE_MS;
    if (!isFailing && passed + reserved - confirmed >= this.#maxUnconfirmed) {
      const asking = this.#askForPlace(env, this.#window);
      // Even if the request is cancelled.
      executionCtx.waitUntil(asking);
      return asking;
    }

    this.#window.passed += 1;
    // `sent` may fall below `confirmed`: a request that asks sends `passed + reserved`, a later
    // report only `passed`.
    const unsent = this.#window.passed - Math.max(sent, confirmed);
    const isDue = isFailing ? now - this.#sentAt >= PROBE_PAUSE_MS : unsent >= this.#maxUnsent;
    if (isDue) executionCtx.waitUntil(this.#report(env, this.#window));
    return 'passed';
  }

  async #report(env: Env, window: Window): Promise<void> {
    await this.#call(env, window, window.passed, false);
  }

  /** The counter decides in time, or else the isolate alone: the place was free when it asked. */
  async #askForPlace(env: Env, window: Window): Promise<Verdict> {
    const startedAt = Date.now();
    // Before the call, so that concurrent requests do not exceed the limit.
    window.reserved += 1;
    const calling = this.#call(env, window, window.passed + window.reserved, true);
    const inTime = await firstWithin(calling, CALL_DEADLINE_MS, undefined);
    if (inTime === undefined) this.#noteFault(new Error('no reply within the deadline'));
    const verdict = inTime ?? 'passed';
    addToLogField('counter_ms', Date.now() - startedAt);
    window.reserved -= 1;
    if (verdict === 'passed') window.passed += 1;
    return verdict;
  }

  /** Returns the verdict on a request that asks for a place: `passed` if the counter fails. */
  async #call(env: Env, window: Window, count: number, wantsPlace: boolean): Promise<Verdict> {
    const { client, isKey, policy, limit } = this.#quota;
    window.sent = count;
    this.#sentAt = Date.now();
    this.#silentSince = Math.min(this.#silentSince, this.#sentAt);
    try {
      const name = isKey ? client : await nameOfAddress(env, client);
      const { record, beganAt } = window;
      const reply = await send(env, name, policy, limit, { record, count, beganAt, wantsPlace });
      this.#silentSince = Number.POSITIVE_INFINITY;
      // Replies may overtake each other: a smaller count is old.
      window.confirmed = Math.max(window.confirmed, reply.own);
      window.others = Math.max(window.others, reply.others);
      // The window began with the client's first request, perhaps in another isolate. Without
      // another isolate, an earlier begin is a difference of clocks.
      if (reply.others > 0) window.beganAt = Math.min(window.beganAt, reply.beganAt);
      return reply.isGranted ? 'passed' : 'rejected';
    } catch (error) {
      this.#noteFault(error);
      // The platform's mark of an object with too many requests.
      const isOverloaded = error instanceof Error && 'overloaded' in error && error.overloaded;
      return isOverloaded === true ? 'overloaded' : 'passed';
    }
  }

  /** Logs the first fault since the last reply. */
  #noteFault(error: unknown): void {
    if (this.#silentSince >= 0) logFault('rate counter failed', error);
    this.#silentSince = Number.NEGATIVE_INFINITY;
  }
}

type Message = Parameters<RateCounter['count']>;

/** Calls an object that is named `health`. An empty report stores nothing. */
export async function callCounter(env: Env): Promise<void> {
  const report = { record: 'health', count: 0, beganAt: Date.now(), wantsPlace: false };
  await send(env, 'health', 'default', 1, report);
}

async function send(env: Env, name: string, ...message: Message): Promise<Reply> {
  const { jurisdiction } = readConfig(env);
  const counters = jurisdiction ? env.RATE_COUNTER.jurisdiction(jurisdiction) : env.RATE_COUNTER;
  const id = counters.idFromName(name);
  try {
    // The result of a remote call keeps the call open until it is disposed of.
    using reply = await counters.get(id).count(...message);
    return { ...reply };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The method is missing: a deployment has not replaced this counter of 1.0.0 yet. A stub that
    // has thrown stays broken.
    const [policy, limit, report] = message;
    const former = { ...report, ageMs: Date.now() - report.beganAt };
    using reply = await counters.get(id).report(policy, limit, former);
    return { ...reply, beganAt: Date.now() - reply.ageMs };
  }
}

const encoder = new TextEncoder();

/**
 * Returns an HMAC: the platform's metrics show the names of objects, also outside the jurisdiction.
 * Another first value of `API_KEY` restarts all counts.
 */
async function nameOfAddress(env: Env, address: string): Promise<string> {
  const secret = encoder.encode(readConfig(env).apiKeys[0] ?? 'no API_KEY');
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', secret, hmac, false, ['sign']);
  const code = await crypto.subtle.sign(hmac.name, key, encoder.encode(address));
  return new Uint8Array(code).toHex();
}
