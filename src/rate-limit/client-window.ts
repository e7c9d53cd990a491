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
  type Counts,
  isInWindow,
  MAX_WAIT_MS,
  type PolicyName,
  type Reply,
  SPAN_MS,
  SPANS,
  SPANS_AHEAD,
  spanAt,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** An isolate reports each twelfth of the limit. From an unconfirmed fifth on, requests ask. */
const REPORT_DIVISOR = 12;
const UNCONFIRMED_DIVISOR = 5;
/** Caps of the two. With them, 20 isolates exceed a limit of 6,000 by 8 %; without, by 158 %. */
const MAX_UNSENT = 25;
const MAX_UNCONFIRMED = 60;
/** Between two reports to a failing counter. */
const PROBE_PAUSE_MS = 1_000;

/** `client` is an address, unless `isKey`: then it names the key. */
type Quota = { client: string; isKey: boolean; policy: PolicyName; limit: number };

/** `overloaded`: the client floods its own counter. */
type Verdict = 'passed' | 'rejected' | 'overloaded';

/** A span's requests of one client. Each is counted in the span in which it began. */
type SpanCounts = {
  /** Passed here. */
  passed: number;
  /** They wait for a place of the counter. */
  reserved: number;
  /** Passed in all other isolates, as the counter said. */
  others: number;
  /** Of `passed`, in the latest report. */
  sent: number;
  /** Counted by the counter, as it confirmed. */
  confirmed: number;
};

/** The window of one client under one policy. Times are milliseconds since the epoch. */
export class ClientWindow {
  readonly #quota: Quota;
  readonly #maxUnsent: number;
  readonly #maxUnconfirmed: number;
  /** See `Report`. */
  readonly #record = crypto.randomUUID();
  readonly #spans = new Map<number, SpanCounts>();
  #calledAt = Number.NEGATIVE_INFINITY;
  /** Start of the first call since the latest reply: infinite without one, negative after a fault. */
  #silentSince = Number.POSITIVE_INFINITY;

  constructor(quota: Quota) {
    const shareOf = (divisor: number) => Math.max(1, Math.floor(quota.limit / divisor));
    this.#quota = quota;
    this.#maxUnsent = Math.min(shareOf(REPORT_DIVISOR), MAX_UNSENT);
    this.#maxUnconfirmed = Math.min(shareOf(UNCONFIRMED_DIVISOR), MAX_UNCONFIRMED);
  }

  /** Adds up the window. `resetSeconds` is the time until more requests remain. */
  stateAt(now: number) {
    const { limit } = this.#quota;
    const current = spanAt(now);
    let [used, unconfirmed, unsent, resetMs] = [0, 0, 0, WINDOW_MS];
    // From the newest span to the oldest one, which is the next to leave.
    for (let span = current + SPANS_AHEAD; span > current - SPANS; span -= 1) {
      const counts = this.#spans.get(span);
      if (counts === undefined) continue;
      const { passed, reserved, others, sent, confirmed } = counts;
      unconfirmed += passed + reserved - confirmed;
      unsent += passed - Math.max(sent, confirmed);
      const count = passed + reserved + others;
      // More requests remain when this span and all older ones have left.
      if (count > 0 && used < limit) resetMs = span * SPAN_MS + WINDOW_MS - now;
      used += count;
    }
    return {
      remaining: Math.max(0, limit - used),
      resetSeconds: Math.ceil(resetMs / 1_000),
      unconfirmed,
      unsent,
    };
  }

  /** Decides about a request. Only one that asks for a place waits, at most 300 ms. Never throws. */
  admit({ env, executionCtx }: Context<AppEnv>, now: number): Verdict | Promise<Verdict> {
    const { remaining, unconfirmed, unsent } = this.stateAt(now);
    if (remaining === 0) return 'rejected';
    const span = spanAt(now);
    const counts = this.#countsOf(span);
    const isFailing = now > this.#silentSince + MAX_WAIT_MS;
    if (!isFailing && unconfirmed >= this.#maxUnconfirmed) {
      // Before the call, so that concurrent requests do not exceed the limit.
      counts.reserved += 1;
      const asking = this.#waitForPlace(env, span, counts);
      // Even if the request is cancelled.
      executionCtx.waitUntil(asking);
      return asking;
    }
    counts.passed += 1;
    const isDue = isFailing
      ? now - this.#calledAt >= PROBE_PAUSE_MS
      : unsent + 1 >= this.#maxUnsent;
    if (isDue) executionCtx.waitUntil(this.#call(env));
    return 'passed';
  }

  /** Returns the counts of a span. Drops all spans outside the window if it adds one. */
  #countsOf(span: number): SpanCounts {
    const known = this.#spans.get(span);
    if (known !== undefined) return known;
    const current = spanAt(Date.now());
    for (const each of this.#spans.keys()) if (!isInWindow(each, current)) this.#spans.delete(each);
    const counts = { passed: 0, reserved: 0, others: 0, sent: 0, confirmed: 0 };
    this.#spans.set(span, counts);
    return counts;
  }

  /** The counter decides in time, or else the isolate alone: the place was free when it asked. */
  async #waitForPlace(env: Env, span: number, counts: SpanCounts): Promise<Verdict> {
    const startedAt = Date.now();
    const inTime = await firstWithin(this.#call(env, span), MAX_WAIT_MS, undefined);
    if (inTime === undefined) this.#noteFault(new Error('no reply within the deadline'));
    const verdict = inTime ?? 'passed';
    addToLogField('counter_ms', Date.now() - startedAt);
    counts.reserved -= 1;
    if (verdict === 'passed') counts.passed += 1;
    return verdict;
  }

  /** Reports, or asks for a place in a span. Returns `passed` if the counter fails. */
  async #call(env: Env, span?: number): Promise<Verdict> {
    const { client, isKey, policy, limit } = this.#quota;
    const counts = new Map<number, number>();
    for (const [each, { passed, reserved }] of this.#spans) {
      // The places of other spans have calls of their own, which may be denied.
      counts.set(each, each === span ? passed + reserved : passed);
    }
    if (span === undefined) this.#raise('sent', counts);
    const report = { record: this.#record, counts };
    const place = span === undefined ? undefined : { span, limit };
    this.#calledAt = Date.now();
    this.#silentSince = Math.min(this.#silentSince, this.#calledAt);
    try {
      const name = isKey ? client : nameOfAddress(env, client);
      const { isCounted, others } = await send(env, name, policy, report, place);
      this.#silentSince = Number.POSITIVE_INFINITY;
      this.#raise('others', others);
      if (isCounted) this.#raise('confirmed', counts);
      return isCounted ? 'passed' : 'rejected';
    } catch (error) {
      this.#noteFault(error);
      // The platform's mark of an object with too many requests.
      const isOverloaded = error instanceof Error && 'overloaded' in error && error.overloaded;
      return isOverloaded === true ? 'overloaded' : 'passed';
    }
  }

  /** Replies may overtake each other: smaller counts are old. */
  #raise(field: 'others' | 'sent' | 'confirmed', news: Counts): void {
    for (const [span, count] of news) {
      const counts = this.#countsOf(span);
      counts[field] = Math.max(counts[field], count);
    }
  }

  /** Logs the first fault since the latest reply. */
  #noteFault(error: unknown): void {
    if (this.#silentSince >= 0) logFault('rate counter failed', error);
    this.#silentSince = Number.NEGATIVE_INFINITY;
  }
}

type Message = Parameters<RateCounter['add']>;

/** Calls an object that is named `health`. An empty report stores nothing. */
export async function callCounter(env: Env): Promise<void> {
  await send(env, 'health', 'default', { record: 'health', counts: new Map() });
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
