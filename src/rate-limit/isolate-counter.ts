/**
 * The isolate's half of the rate limit. It counts one client's requests, and reports them to the
 * client's counter (counter.ts). Most requests are admitted immediately. While too many are
 * unacknowledged, a request waits for a permit from the counter. With a limit of 100:
 *
 *     admitted   reported   acknowledged   the next request
 *            7          0              0   is admitted; all 8 are reported in the background
 *           19         16              8   is admitted
 *           20         16              0   waits for a permit
 */

import { createHmac } from 'node:crypto';
import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { addToLogField, logError } from '../http/log.ts';
import type { RateCounter } from './counter.ts';
import {
  BUCKET_MS,
  BUCKETS_PER_WINDOW,
  bucketAt,
  type Counts,
  MAX_BUCKETS_APART,
  MAX_WAIT_MS,
  type PolicyName,
  type Reply,
  WINDOW_MS,
} from './counter-arithmetic.ts';

/** An isolate sends a report when its unreported requests reach a twelfth of the limit. */
const UNREPORTED_DIVISOR = 12;
/** A request waits for a permit when a fifth of the limit is unacknowledged. */
const UNACKNOWLEDGED_DIVISOR = 5;
/**
 * Maximum numbers of unreported and unacknowledged requests, for large limits. With these maximums, 20
 * isolates exceed a limit of 6,000 by 8 %; without them, by 158 %.
 */
const MAX_UNREPORTED = 25;
const MAX_UNACKNOWLEDGED = 60;
/** Minimum time between two reports to a failing counter. */
const RETRY_INTERVAL_MS = 1_000;

/** `client` is an address, or the name of a key if `isKey` is set. */
type Quota = { client: string; isKey: boolean; policy: PolicyName; limit: number };

/** `overloaded` means that the client sends more requests than its counter can handle. */
type Verdict = 'admitted' | 'rejected' | 'overloaded';

/** A client's requests that began in one bucket. */
type BucketCounts = {
  /** Requests that this isolate has admitted. */
  admitted: number;
  /** Requests of this isolate that wait for a permit. */
  pending: number;
  /** Requests that all other isolates have admitted, according to the counter. */
  admittedElsewhere: number;
  /** Number of admitted requests that the last report contained. */
  reported: number;
  /** Requests of this isolate that the counter has stored. */
  acknowledged: number;
};

type CounterHealth =
  | { state: 'responding' }
  /** `since` is the time of the first call without a reply. */
  | { state: 'waiting'; since: number }
  | { state: 'failing' };

/** Counts the requests of one client under one policy. Times are milliseconds since the epoch. */
export class IsolateCounter {
  readonly #quota: Quota;
  readonly #maxUnreported: number;
  readonly #maxUnacknowledged: number;
  readonly #reporter = crypto.randomUUID();
  readonly #buckets = new Map<number, BucketCounts>();
  #calledAt = Number.NEGATIVE_INFINITY;
  #health: CounterHealth = { state: 'responding' };

  constructor(quota: Quota) {
    const divideLimit = (divisor: number) => Math.max(1, Math.floor(quota.limit / divisor));
    this.#quota = quota;
    this.#maxUnreported = Math.min(divideLimit(UNREPORTED_DIVISOR), MAX_UNREPORTED);
    this.#maxUnacknowledged = Math.min(divideLimit(UNACKNOWLEDGED_DIVISOR), MAX_UNACKNOWLEDGED);
  }

  /** Returns the client's quota in the window. `resetSeconds` is the time until more requests become available. */
  quotaAt(now: number) {
    const { limit } = this.#quota;
    const current = bucketAt(now);
    let [used, unacknowledged, unreported, resetMs] = [0, 0, 0, WINDOW_MS];
    // From the newest bucket to the oldest one, which leaves the window next.
    for (
      let bucket = current + MAX_BUCKETS_APART;
      bucket > current - BUCKETS_PER_WINDOW;
      bucket -= 1
    ) {
      const counts = this.#buckets.get(bucket);
      if (counts === undefined) continue;
      const { admitted, pending, admittedElsewhere, reported, acknowledged } = counts;
      unacknowledged += admitted + pending - acknowledged;
      unreported += admitted - Math.max(reported, acknowledged);
      const count = admitted + pending + admittedElsewhere;
      // More requests remain when this bucket and all older ones have left the window.
      if (count > 0 && used < limit) resetMs = bucket * BUCKET_MS + WINDOW_MS - now;
      used += count;
    }
    return {
      remaining: Math.max(0, limit - used),
      resetSeconds: Math.ceil(resetMs / 1_000),
      unacknowledged,
      unreported,
    };
  }

  /**
   * Decides about a request. Waits only if the request needs a permit, and for at most 300 ms. Never
   * throws.
   */
  admit({ env, executionCtx }: Context<AppEnv>, now: number): Verdict | Promise<Verdict> {
    const { remaining, unacknowledged, unreported } = this.quotaAt(now);
    if (remaining === 0) return 'rejected';
    const bucket = bucketAt(now);
    const counts = this.#countsIn(bucket);
    const isFailing = this.#isFailing(now);
    if (!isFailing && unacknowledged >= this.#maxUnacknowledged) {
      // Counted before the call, so that concurrent requests do not exceed the limit.
      counts.pending += 1;
      const verdict = this.#waitForPermit(env, bucket, counts);
      // A cancelled request settles its permit too.
      executionCtx.waitUntil(verdict);
      return verdict;
    }
    counts.admitted += 1;
    const isDue = isFailing
      ? now - this.#calledAt >= RETRY_INTERVAL_MS
      : unreported + 1 >= this.#maxUnreported;
    if (isDue) executionCtx.waitUntil(this.#call(env));
    return 'admitted';
  }

  #isFailing(now: number): boolean {
    if (this.#health.state === 'waiting') return now > this.#health.since + MAX_WAIT_MS;
    return this.#health.state === 'failing';
  }

  /** Returns the counts of a bucket. Before it adds a bucket, drops the buckets outside the window. */
  #countsIn(bucket: number): BucketCounts {
    const existing = this.#buckets.get(bucket);
    if (existing !== undefined) return existing;
    const current = bucketAt(Date.now());
    for (const old of this.#buckets.keys()) {
      if (old <= current - BUCKETS_PER_WINDOW || old > current + MAX_BUCKETS_APART) {
        this.#buckets.delete(old);
      }
    }
    const counts = { admitted: 0, pending: 0, admittedElsewhere: 0, reported: 0, acknowledged: 0 };
    this.#buckets.set(bucket, counts);
    return counts;
  }

  /** Waits for a permit. Admits the request if no reply arrives in time, because the limit had room. */
  async #waitForPermit(env: Env, bucket: number, counts: BucketCounts): Promise<Verdict> {
    const startedAt = Date.now();
    const reply = await firstWithin(this.#call(env, bucket), MAX_WAIT_MS, undefined);
    if (reply === undefined) this.#recordFailure(new Error('no reply within the deadline'));
    const verdict = reply ?? 'admitted';
    addToLogField('counter_ms', Date.now() - startedAt);
    counts.pending -= 1;
    if (verdict === 'admitted') counts.admitted += 1;
    return verdict;
  }

  /**
   * Reports the counts. With `permitBucket`, also requests a permit. Returns `admitted` if the counter
   * fails.
   */
  async #call(env: Env, permitBucket?: number): Promise<Verdict> {
    const { client, isKey, policy, limit } = this.#quota;
    const counts = new Map<number, number>();
    for (const [bucket, { admitted, pending }] of this.#buckets) {
      // Pending requests in other buckets have their own calls, and may be denied.
      counts.set(bucket, bucket === permitBucket ? admitted + pending : admitted);
    }
    if (permitBucket === undefined) this.#mergeCounts('reported', counts);
    const report = { record: this.#reporter, counts };
    const permit = permitBucket === undefined ? undefined : { span: permitBucket, limit };
    this.#recordCall(Date.now());
    try {
      const name = isKey ? client : hashAddress(env, client);
      const { isCounted, others } = await send(env, name, policy, report, permit);
      this.#health = { state: 'responding' };
      this.#mergeCounts('admittedElsewhere', others);
      if (isCounted) this.#mergeCounts('acknowledged', counts);
      return isCounted ? 'admitted' : 'rejected';
    } catch (error) {
      this.#recordFailure(error);
      // The platform sets `overloaded` if an object has too many queued requests.
      const isOverloaded = error instanceof Error && 'overloaded' in error && error.overloaded;
      return isOverloaded === true ? 'overloaded' : 'admitted';
    }
  }

  /**
   * Keeps the larger count of each bucket, because a smaller count belongs to an older call that was
   * overtaken.
   */
  #mergeCounts(field: 'admittedElsewhere' | 'reported' | 'acknowledged', received: Counts): void {
    for (const [bucket, count] of received) {
      const counts = this.#countsIn(bucket);
      counts[field] = Math.max(counts[field], count);
    }
  }

  #recordCall(now: number): void {
    this.#calledAt = now;
    if (this.#health.state === 'failing') return;
    const since = this.#health.state === 'waiting' ? Math.min(this.#health.since, now) : now;
    this.#health = { state: 'waiting', since };
  }

  /** Records a failure of the counter. Logs only the first failure after a reply. */
  #recordFailure(error: unknown): void {
    if (this.#health.state !== 'failing') logError('rate counter failed', error);
    this.#health = { state: 'failing' };
  }
}

type Message = Parameters<RateCounter['add']>;

/** Calls the counter named `health` with an empty report, which stores nothing. */
export async function callCounter(env: Env): Promise<void> {
  await send(env, 'health', 'default', { record: 'health', counts: new Map() });
}

async function send(env: Env, name: string, ...message: Message): Promise<Reply> {
  const { jurisdiction } = readConfig(env);
  const counters = jurisdiction ? env.RATE_COUNTER.jurisdiction(jurisdiction) : env.RATE_COUNTER;
  // A call stays open until its result is disposed of.
  using reply = await counters.get(counters.idFromName(name)).add(...message);
  return { ...reply };
}

/**
 * Returns an HMAC of an address, because the platform's metrics show object names even outside the
 * jurisdiction. Changing the first value of `API_KEY` resets all counts.
 */
function hashAddress(env: Env, address: string): string {
  const secret = readConfig(env).apiKeys[0] ?? 'no API_KEY';
  return createHmac('sha256', secret).update(address).digest('hex');
}
