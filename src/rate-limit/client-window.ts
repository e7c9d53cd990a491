/**
 * The isolate's part of the rate limit: one client's requests in the window, which this isolate
 * reports to the client's counter (counter.ts). Most requests pass at once. While many
 * requests are unconfirmed, a request reserves a place and asks the counter for it.
 */

import { createHmac } from 'node:crypto';
import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { addToLogField, logFault } from '../http/log.ts';
import type { RateCounter } from './counter.ts';
import {
  isInWindow,
  MAX_WAIT_MS,
  type PolicyName,
  type Reply,
  SPAN_MS,
  SPANS,
  SPANS_AHEAD,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** An isolate reports each twelfth of the limit. From an unconfirmed fifth on, requests ask. */
const REPORT_DIVISOR = 12;
const UNCONFIRMED_DIVISOR = 5;
/** Caps of the two. With them, 20 isolates exceed a limit of 6,000 by 8 %; without, by 137 %. */
const MAX_UNSENT = 25;
const MAX_UNCONFIRMED = 60;
/** Between two reports to a failing counter. */
const PROBE_PAUSE_MS = 1_000;

/** `client` is an address, unless `isKey`: then it names the key. */
type Quota = { client: string; isKey: boolean; policy: PolicyName; limit: number };

/** `overloaded`: the client floods its own counter. */
type Verdict = 'passed' | 'rejected' | 'overloaded';

/** The window of one client under one policy. Times are milliseconds since the epoch. */
export class ClientWindow {
  readonly #quota: Quota;
  readonly #maxUnsent: number;
  readonly #maxUnconfirmed: number;
  /** See `Report`. */
  readonly #record = crypto.randomUUID();
  /** The requests that passed here, or wait for the counter, in the span in which they began. */
  readonly #own = new Map<number, number>();
  /** The requests of all other isolates, from the counter's replies. */
  readonly #others = new Map<number, number>();
  /** The requests of both in the window of a span: a running total, which is not added up again. */
  #used = 0;
  #current = Number.NaN;
  /** Own requests since the start: all, those of the latest report, and those confirmed. */
  #begun = 0;
  #sent = 0;
  #confirmed = 0;
  #waiting = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** Start of the first call since the latest reply: infinite without one, negative after a fault. */
  #silentSince = Number.POSITIVE_INFINITY;

  constructor(quota: Quota) {
    const shareOf = (divisor: number) => Math.max(1, Math.floor(quota.limit / divisor));
    this.#quota = quota;
    this.#maxUnsent = Math.min(shareOf(REPORT_DIVISOR), MAX_UNSENT);
    this.#maxUnconfirmed = Math.min(shareOf(UNCONFIRMED_DIVISOR), MAX_UNCONFIRMED);
  }

  /** The seconds until the newest request leaves the window, and until a request passes. */
  stateAt(now: number) {
    const { limit } = this.#quota;
    const current = Math.floor(now / SPAN_MS);
    let [used, resetMs, retryMs] = [0, WINDOW_MS, 1];
    for (let span = current + SPANS_AHEAD; span > current - SPANS; span -= 1) {
      const count = (this.#own.get(span) ?? 0) + (this.#others.get(span) ?? 0);
      const leavesInMs = span * SPAN_MS + WINDOW_MS - now;
      if (used === 0 && count > 0) resetMs = leavesInMs;
      if (used < limit && used + count >= limit) retryMs = leavesInMs;
      used += count;
    }
    return {
      remaining: Math.max(0, limit - used),
      resetSeconds: Math.ceil(resetMs / 1_000),
      retrySeconds: Math.ceil(retryMs / 1_000),
    };
  }

  /** Decides about a request. Only one that asks for a place waits, at most 300 ms. Never throws. */
  admit({ env, executionCtx }: Context<AppEnv>, now: number): Verdict | Promise<Verdict> {
    const span = Math.floor(now / SPAN_MS);
    if (span !== this.#current) this.#moveTo(span);
    if (this.#used >= this.#quota.limit) return 'rejected';

    const isFailing = now > this.#silentSince + MAX_WAIT_MS;
    const mustAsk = !isFailing && this.#begun - this.#confirmed >= this.#maxUnconfirmed;
    // Before a call, so that concurrent requests do not exceed the limit.
    this.#own.set(span, (this.#own.get(span) ?? 0) + 1);
    this.#used += 1;
    this.#begun += 1;
    if (mustAsk) {
      const asking = this.#askForPlace(env, span);
      // Even if the request is cancelled.
      executionCtx.waitUntil(asking);
      return asking;
    }
    const isDue = isFailing
      ? now - this.#sentAt >= PROBE_PAUSE_MS
      : this.#begun - Math.max(this.#sent, this.#confirmed) >= this.#maxUnsent;
    // A report would count the places of waiting requests, which the counter may still reject.
    if (isDue && this.#waiting === 0) executionCtx.waitUntil(this.#call(env, false));
    return 'passed';
  }

  /** Adds up the window of a span. Drops the spans outside it, which need no report any more. */
  #moveTo(current: number): void {
    this.#current = current;
    this.#used = 0;
    for (const counts of [this.#own, this.#others]) {
      for (const [span, count] of counts) {
        if (isInWindow(span, current)) this.#used += count;
        else counts.delete(span);
      }
    }
    this.#confirmed = Math.max(this.#confirmed, this.#begun - this.#used);
  }

  /** The counter decides in time, or else the isolate alone: the place was free when it asked. */
  async #askForPlace(env: Env, span: number): Promise<Verdict> {
    const startedAt = Date.now();
    this.#waiting += 1;
    const inTime = await firstWithin(this.#call(env, true), MAX_WAIT_MS, undefined);
    this.#waiting -= 1;
    if (inTime === undefined) this.#noteFault(new Error('no reply within the deadline'));
    const verdict = inTime ?? 'passed';
    addToLogField('counter_ms', Date.now() - startedAt);
    if (verdict !== 'passed') {
      this.#own.set(span, (this.#own.get(span) ?? 0) - 1);
      this.#moveTo(this.#current);
    }
    return verdict;
  }

  /** Returns the verdict on a request that asks for a place: `passed` if the counter fails. */
  async #call(env: Env, wantsPlace: boolean): Promise<Verdict> {
    const { client, isKey, policy, limit } = this.#quota;
    const report = { record: this.#record, counts: new Map(this.#own), wantsPlace };
    const begun = this.#begun;
    this.#sent = begun;
    this.#sentAt = Date.now();
    this.#silentSince = Math.min(this.#silentSince, this.#sentAt);
    try {
      const name = isKey ? client : nameOfAddress(env, client);
      const { isGranted, others } = await send(env, name, policy, limit, report);
      this.#silentSince = Number.POSITIVE_INFINITY;
      // Replies may overtake each other: smaller counts are old.
      for (const [span, count] of others) {
        this.#others.set(span, Math.max(count, this.#others.get(span) ?? 0));
      }
      if (isGranted) this.#confirmed = Math.max(this.#confirmed, begun);
      this.#moveTo(this.#current);
      return isGranted ? 'passed' : 'rejected';
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

type Message = Parameters<RateCounter['add']>;

/** Calls an object that is named `health`. An empty report stores nothing. */
export async function callCounter(env: Env): Promise<void> {
  await send(env, 'health', 'default', 1, {
    record: 'health',
    counts: new Map(),
    wantsPlace: false,
  });
}

async function send(env: Env, name: string, ...message: Message): Promise<Reply> {
  const { jurisdiction } = readConfig(env);
  const counters = jurisdiction ? env.RATE_COUNTER.jurisdiction(jurisdiction) : env.RATE_COUNTER;
  // The result of a remote call keeps the call open until it is disposed of.
  using reply = await counters.get(counters.idFromName(name)).add(...message);
  return { ...reply };
}

/**
 * Returns an HMAC: the platform's metrics show the names of objects, also outside the jurisdiction.
 * Another first value of `API_KEY` restarts all counts.
 */
function nameOfAddress(env: Env, address: string): string {
  const secret = readConfig(env).apiKeys[0] ?? 'no API_KEY';
  return createHmac('sha256', secret).update(address).digest('hex');
}
