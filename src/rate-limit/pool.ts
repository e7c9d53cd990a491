/**
 * The requests of one client that this isolate holds: granted by the client's object and not spent yet.
 *
 * Requests of one isolate share data, but cannot wait for each other's promises on Workers. So a request that finds the
 * pool empty while a call is under way looks at the pool every 2 ms. It makes a call of its own when the calls under
 * way bring too little, or take too long: a call may be lost with the request that made it.
 *
 * The pool holds and asks for at most a tenth of the limit beyond its waiting requests, because other isolates cannot
 * spend these. Only calls that took over `PATIENCE_MS` can make it more.
 */

import { countersOf } from '../config.ts';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import {
  type CounterName,
  firstLease,
  type Lease,
  largestLease,
  nextLease,
  WINDOW_SECONDS,
  type Window,
} from './lease.ts';

/** The longest that a request waits for its counter. */
const DEADLINE_MS = 1_000;
/** A waiting request relies on another request's call for so long. */
const PATIENCE_MS = 100;
const LOOK_EVERY_MS = 2;
/** After a failed call, no lease is fetched ahead for so long. */
const QUIET_MS = 1_000;

/**
 * The reserve is the number of held requests at which the next lease is fetched, as a part of the largest lease. A
 * small reserve makes few calls. It grows by one step each time a request finds the pool empty with a call under way.
 */
const RESERVE_STEP = 1 / 10;
/** After so many waits a client counts as faster than its leases. They are halved, and fetched at half a lease. */
const TIMES_DRY_UNTIL_FAST = 3;
const PART_OF_FAST_LEASE = 1 / 2;

/**
 * The outcome of counting one request. `overloaded`: the client floods its own object. `uncounted`: the object failed,
 * or did not answer in time.
 */
type Count =
  | {
      outcome: 'allowed' | 'refused';
      /** Requests left in the window. */
      remaining: number;
      /** Milliseconds until the window is over, above 0. */
      resetMs: number;
    }
  | Failure;

type Failure = { outcome: 'overloaded' } | { outcome: 'uncounted' };

/** A call of the object that is under way. */
type Call = { readonly sentAt: number; readonly expected: number };

/** A client's window as this isolate knows it. All times are by the isolate's own clock. */
type KnownWindow = {
  /** `Lease.window`. */
  id: number;
  /** Requests of the window that are not granted yet, as of this isolate's last call. */
  left: number;
  /** The window lasts at least until then: `resetMs` after the call was sent. */
  endsAt: number;
  /** The window is over by then at the latest: `resetMs` after the answer came. */
  overAt: number;
};

/** The pool of one client and counter. */
export class Pool {
  readonly #counter: CounterName;
  readonly #client: string;
  readonly #limit: number;
  readonly #first: number;
  readonly #largest: number;
  readonly #calls = new Set<Call>();
  #window: KnownWindow | undefined;
  #held = 0;
  #waiting = 0;
  #timesDry = 0;
  #quietUntil = 0;

  /** `client` names the object, `limit` is the number of requests per window. */
  constructor(counter: CounterName, client: string, limit: number) {
    this.#counter = counter;
    this.#client = client;
    this.#limit = limit;
    this.#first = firstLease(limit);
    this.#largest = largestLease(limit);
  }

  /**
   * Spends a held request, or refuses when the window is known to be full. Returns undefined when the request has to
   * wait, because a call may still bring a lease.
   */
  spend(now: number): Count | undefined {
    const window = this.#windowAt(now);
    if (window === undefined) return undefined;
    if (this.#held > 0) {
      this.#held -= 1;
      const remaining = window.left + this.#held;
      return { outcome: 'allowed', remaining, resetMs: window.overAt - now };
    }
    return this.#calls.size > 0 ? undefined : refusalIn(window, now);
  }

  /** Waits until `spend` has an outcome, for a second at most. Never rejects. */
  async wait(env: Env): Promise<Count> {
    const startedAt = Date.now();
    // Many waits at the start of a window say nothing about the client's rate.
    if (this.#calls.size > 0 && this.#windowAt(startedAt) !== undefined) this.#timesDry += 1;
    this.#waiting += 1;
    let waitedMs = 0;
    let failure: Failure | undefined;
    for (let looks = 1; waitedMs < DEADLINE_MS && failure === undefined; looks += 1) {
      const wanted = this.#wantedNow(startedAt + waitedMs);
      if (wanted > 0) failure = await this.#call(env, wanted, DEADLINE_MS - waitedMs);
      else await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      const count = this.spend(Date.now());
      if (count !== undefined) {
        this.#waiting -= 1;
        return count;
      }
      // In a Worker the clock advances on I/O only, so the looks count too.
      waitedMs = Math.max(Date.now() - startedAt, looks * LOOK_EVERY_MS);
    }
    this.#waiting -= 1;
    const now = Date.now();
    const window = this.#windowAt(now);
    return (window && refusalIn(window, now)) ?? failure ?? { outcome: 'uncounted' };
  }

  /**
   * Fetches the next lease in the background when few requests are held. After a first lease it waits until none is
   * held: most clients send no more requests.
   */
  refill(env: Env, now: number, context: Pick<ExecutionContext, 'waitUntil'>): void {
    const window = this.#windowAt(now);
    if (window === undefined || now < this.#quietUntil) return;
    const isFirst = this.#limit - window.left <= this.#first;
    if (isFirst && (this.#held > 0 || this.#first === 1)) return;
    const expected = this.#expected(now);
    const held = this.#held + expected - this.#waiting;
    const room = this.#largest - held;
    const next = Math.min(nextLease(this.#limit, window.left - expected), this.#largestAsk);
    if (room < 1 || next < 1) return;
    // Above the reserve, a later call may bring more, unless the pool has room for the whole next lease.
    if (held > this.#reserve && next > room) return;
    context.waitUntil(this.#call(env, Math.min(room, next), DEADLINE_MS));
  }

  /**
   * Returns how many requests a waiting request asks for: 0 while it relies on calls under way, or when the window has
   * none left.
   */
  #wantedNow(now: number): number {
    const window = this.#windowAt(now);
    if (window?.left === 0) return 0;
    const expected = this.#expected(now);
    const left = (window?.left ?? this.#limit) - expected;
    // The calls under way bring enough requests, or have asked for all requests left.
    const isComing = expected > 0 && (this.#waiting <= expected || left <= 0);
    if (isComing) return 0;
    const room = this.#largest + this.#waiting - expected;
    return Math.max(1, Math.min(room, this.#largestAsk, nextLease(this.#limit, left)));
  }

  /** Calls the client's object, and adds the lease to the pool. Gives up after `deadlineMs`. Never rejects. */
  async #call(env: Env, wanted: number, deadlineMs: number): Promise<Failure | undefined> {
    const sentAt = Date.now();
    const left = (this.#windowAt(sentAt)?.left ?? this.#limit) - this.#expected(sentAt);
    const call = { sentAt, expected: Math.min(wanted, nextLease(this.#limit, left)) };
    this.#calls.add(call);
    const leasing = async () => {
      // A stub that has thrown stays broken: each call takes its own.
      const counters = countersOf(env);
      const stub = counters.get(counters.idFromName(this.#client));
      const lease = await stub.grant(this.#counter, this.#limit, wanted, this.#remembered);
      const { granted, left, resetMs, window } = lease;
      // The result of a remote call keeps the call open until it is disposed of.
      lease[Symbol.dispose]();
      this.#calls.delete(call);
      // A lease that comes after the deadline is added too: the object has debited it.
      this.#add({ granted, left, resetMs, window }, sentAt, Date.now());
    };
    try {
      await withDeadline(leasing(), deadlineMs, 'rate counter');
      return undefined;
    } catch (error) {
      this.#calls.delete(call);
      this.#quietUntil = Date.now() + QUIET_MS;
      logFault('rate counter failed', error);
      return { outcome: isOverloaded(error) ? 'overloaded' : 'uncounted' };
    }
  }

  /** Adds a lease to the requests held. It never replaces them: the object has debited both. */
  #add({ granted, left, resetMs, window: id }: Lease, sentAt: number, now: number): void {
    const endsAt = sentAt + resetMs;
    const overAt = now + resetMs;
    if (endsAt <= now) return;
    const known = this.#window;
    if (known?.id === id) {
      // Answers may overtake each other.
      known.left = Math.min(known.left, left);
      known.endsAt = Math.max(known.endsAt, endsAt);
      known.overAt = Math.min(known.overAt, overAt);
    } else {
      this.#window = { id, left, endsAt, overAt };
      this.#held = 0;
    }
    this.#held += granted;
  }

  /** Returns the window until `endsAt`. A window that ends too far ahead comes from a clock that was set back. */
  #windowAt(now: number): KnownWindow | undefined {
    const lastsMs = (this.#window?.endsAt ?? now) - now;
    return lastsMs > 0 && lastsMs < 2_000 * WINDOW_SECONDS ? this.#window : undefined;
  }

  /** Returns how many requests the calls under way bring. An older call may be lost, and is not counted on. */
  #expected(now: number): number {
    let expected = 0;
    for (const call of this.#calls) {
      if (now - call.sentAt < PATIENCE_MS) expected += call.expected;
    }
    return expected;
  }

  /**
   * The window from which the object goes on if it has forgotten its own. The object decides whether this window is
   * over: for this isolate a window ends a little early.
   */
  get #remembered(): Window | undefined {
    const window = this.#window;
    return window && { startedAt: window.id, hits: this.#limit - window.left };
  }

  get #isFast(): boolean {
    return this.#timesDry >= TIMES_DRY_UNTIL_FAST;
  }

  /** The number of held requests at which the next lease is fetched. */
  get #reserve(): number {
    const part = this.#isFast ? PART_OF_FAST_LEASE : RESERVE_STEP * (1 + this.#timesDry);
    return Math.floor(this.#largest * part);
  }

  /** The number of requests that one call asks for at most. */
  get #largestAsk(): number {
    return this.#isFast
      ? Math.max(1, Math.floor(this.#largest * PART_OF_FAST_LEASE))
      : this.#largest;
  }
}

/** Returns the refusal of a request; undefined while the window has requests left. */
function refusalIn({ left, overAt }: KnownWindow, now: number): Count | undefined {
  return left > 0 ? undefined : { outcome: 'refused', remaining: 0, resetMs: overAt - now };
}

/** Reports whether the object has more requests than it can serve. The platform marks such errors. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}
