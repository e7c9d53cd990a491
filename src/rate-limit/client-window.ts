/**
 * One client's requests in one window, counted by this isolate and reported to the client's object. A place is reserved
 * before the object is asked, so that requests at the same time never exceed the limit.
 */

import { configOf } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { logFault } from '../http/log.ts';
import {
  type CounterName,
  decide,
  hasEnded,
  isReportDue,
  remainingOf,
  type Tally,
  WINDOW_MS,
} from './window.ts';

/** The longest wait for the object. Then it counts as failing. */
const CALL_DEADLINE_MS = 300;
/** The pause between two reports to an object that fails. */
const PROBE_PAUSE_MS = 1_000;

/** `client` names the object. `limit` is the number of requests per window. */
type Quota = { client: string; counter: CounterName; limit: number };

/** `overloaded`: the client floods its own object. */
type Verdict = 'passed' | 'rejected' | 'overloaded';

type Background = Pick<ExecutionContext, 'waitUntil'>;

export class ClientWindow {
  readonly #quota: Quota;
  readonly #record = crypto.randomUUID();
  #formerRecord: string | undefined;
  readonly #tally: Tally = { passed: 0, reserved: 0, sent: 0, reported: 0, others: 0 };
  #beganAt: number;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** The object counts as failing from then on, unless it replies before. */
  #failsFrom = Number.POSITIVE_INFINITY;

  /** `former` is the client's previous window, which has ended. */
  constructor(quota: Quota, now: number, former?: ClientWindow) {
    this.#quota = quota;
    this.#beganAt = now;
    if (former === undefined) return;
    this.#formerRecord = former.#record;
    this.#failsFrom = former.#failsFrom;
  }

  hasEnded(now: number): boolean {
    return hasEnded(this.#beganAt, now);
  }

  /** Returns the requests left, and the milliseconds until the window ends. */
  stateAt(now: number): { remaining: number; resetMs: number } {
    const remaining = remainingOf(this.#tally, this.#quota.limit);
    return { remaining, resetMs: this.#beganAt + WINDOW_MS - now };
  }

  /** Counts a request. Only a request that asks the object waits, at most 300 ms. Never rejects. */
  count(env: Env, now: number, context: Background): Verdict | Promise<Verdict> {
    const isFailing = now > this.#failsFrom;
    switch (decide(this.#tally, this.#quota.limit, isFailing)) {
      case 'reject':
        return 'rejected';
      case 'pass': {
        this.#tally.passed += 1;
        const isDue = isFailing
          ? now - this.#sentAt >= PROBE_PAUSE_MS
          : isReportDue(this.#tally, this.#quota.limit);
        if (isDue) context.waitUntil(this.#send(env, false));
        return 'passed';
      }
      case 'ask': {
        const asking = this.#ask(env);
        // The place is settled even if its request is cancelled.
        context.waitUntil(asking);
        return asking;
      }
    }
  }

  /** Reserves a place, and takes it unless the object denies it in time. */
  async #ask(env: Env): Promise<Verdict> {
    this.#tally.reserved += 1;
    const inTime = await firstWithin(this.#send(env, true), CALL_DEADLINE_MS, undefined);
    const verdict = inTime ?? this.#fail(new Error(`no reply within ${CALL_DEADLINE_MS} ms`));
    this.#tally.reserved -= 1;
    if (verdict === 'passed') this.#tally.passed += 1;
    return verdict;
  }

  /** Reports the count so far. Never rejects. */
  async #send(env: Env, wantsPlace: boolean): Promise<Verdict> {
    const { client, counter, limit } = this.#quota;
    const { passed } = this.#tally;
    const now = Date.now();
    this.#tally.sent = passed;
    this.#sentAt = now;
    this.#failsFrom = Math.min(this.#failsFrom, now + CALL_DEADLINE_MS);
    try {
      const [record, formerRecord, ageMs] = [this.#record, this.#formerRecord, now - this.#beganAt];
      const report = { record, formerRecord, passed, ageMs, wantsPlace };
      // The result of a remote call keeps the call open until it is disposed of.
      using reply = await counterOf(env, client).report(counter, limit, report);
      this.#failsFrom = Number.POSITIVE_INFINITY;
      // Replies may overtake each other: a smaller count is old.
      this.#tally.reported = Math.max(this.#tally.reported, reply.own);
      this.#tally.others = Math.max(this.#tally.others, reply.others);
      this.#beganAt = Math.min(this.#beganAt, Date.now() - reply.ageMs);
      return reply.isGranted ? 'passed' : 'rejected';
    } catch (error) {
      this.#fail(error);
      // The platform's mark of an object with more requests than it can serve.
      const isOverloaded = error instanceof Error && 'overloaded' in error && error.overloaded;
      return isOverloaded === true ? 'overloaded' : 'passed';
    }
  }

  /** Logs the first fault since the last reply. The isolate's own count decides: the request passes. */
  #fail(error: unknown): 'passed' {
    if (this.#failsFrom !== Number.NEGATIVE_INFINITY) logFault('rate counter failed', error);
    this.#failsFrom = Number.NEGATIVE_INFINITY;
    return 'passed';
  }
}

/** A stub that has thrown stays broken: each call needs a new one. */
function counterOf(env: Env, client: string) {
  const { jurisdiction } = configOf(env);
  const counters = jurisdiction ? env.RATE_COUNTER.jurisdiction(jurisdiction) : env.RATE_COUNTER;
  return counters.get(counters.idFromName(client));
}

/** Calls an object, for the health check. It stores nothing for an empty report. */
export async function callCounter(env: Env): Promise<void> {
  const counts = { record: 'health', formerRecord: undefined, passed: 0 };
  const report = { ...counts, ageMs: 0, wantsPlace: false };
  using _reply = await counterOf(env, 'health').report('default', 1, report);
}
