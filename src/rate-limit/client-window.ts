/**
 * The requests of one client that this isolate counts in one window, and its reports to the client's object.
 *
 * The isolate reserves a place before it asks the object, so that requests at the same time never exceed the limit. A
 * client of one isolate gets exactly its limit, whatever the object does.
 */

import { countersOf } from '../config.ts';
import { logFault } from '../http/log.ts';
import { firstWithin } from '../storage/deadline.ts';
import {
  type CounterName,
  decide,
  hasEnded,
  isReportDue,
  type Reply,
  remainingOf,
  type Tally,
  WINDOW_MS,
} from './window.ts';

/** The longest that a request waits for its counter. An object that takes longer fails. */
const CALL_DEADLINE_MS = 300;
/** The pause between two reports to an object that fails. */
const PROBE_PAUSE_MS = 1_000;

/** The name of the client's object, the counter, and its limit per window. */
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
  /** The object fails from then on, unless it replies before. */
  #failsFrom = Number.POSITIVE_INFINITY;

  /** `former` is the client's window before, which has ended. */
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

  /** Counts a request. Only a request that has to ask the object waits, for 300 ms at most. Never rejects. */
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
        // The reserved place is settled even if its request is cancelled.
        context.waitUntil(asking);
        return asking;
      }
    }
  }

  /** Reserves a place, and takes it unless the object denies it in time. */
  async #ask(env: Env): Promise<Verdict> {
    this.#tally.reserved += 1;
    const sending = this.#send(env, true);
    const inTime = await firstWithin(sending, CALL_DEADLINE_MS, undefined);
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
      // A stub that has thrown stays broken: each call takes its own.
      const counters = countersOf(env);
      const stub = counters.get(counters.idFromName(client));
      const [record, formerRecord, ageMs] = [this.#record, this.#formerRecord, now - this.#beganAt];
      const report = { record, formerRecord, passed, ageMs, wantsPlace };
      // The result of a remote call keeps the call open until it is disposed of.
      using reply = await stub.report(counter, limit, report);
      this.#learn(reply, Date.now());
      return reply.isGranted ? 'passed' : 'rejected';
    } catch (error) {
      const verdict = this.#fail(error);
      return isOverloaded(error) ? 'overloaded' : verdict;
    }
  }

  /** Takes over a reply, a late one too. Replies may overtake each other: a smaller count is no news. */
  #learn({ own, others, ageMs }: Reply, now: number): void {
    this.#failsFrom = Number.POSITIVE_INFINITY;
    this.#tally.reported = Math.max(this.#tally.reported, own);
    this.#tally.others = Math.max(this.#tally.others, others);
    this.#beganAt = Math.min(this.#beganAt, now - ageMs);
  }

  /** Logs the first fault since the last reply. The isolate's own count decides: the request passes. */
  #fail(error: unknown): 'passed' {
    if (this.#failsFrom !== Number.NEGATIVE_INFINITY) logFault('rate counter failed', error);
    this.#failsFrom = Number.NEGATIVE_INFINITY;
    return 'passed';
  }
}

/** Reports whether the object has more requests than it can serve. The platform marks such errors. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}
