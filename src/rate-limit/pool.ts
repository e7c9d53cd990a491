/**
 * The part of one client's window that this isolate holds: the requests that the object granted and nobody has
 * spent. Plain data without I/O, because requests of one isolate share data but cannot wait for each
 * other's promises.
 *
 * What is held and asked for, less the requests that wait for it, is at most a tenth of the limit: that is
 * all that a client can miss elsewhere. More can be held only after calls that took over `PATIENCE_MS`.
 */

import { WINDOW_SECONDS } from '../http/errors.ts';
import { CallTime } from './call-time.ts';
import { firstLease, type Lease, largestLease, nextLease } from './lease.ts';
import { Pace } from './pace.ts';
import type { Count } from './window.ts';

/** The time for which a request relies on a call under way. The looks bound it while the clock stands still. */
const PATIENCE_MS = 100;
const PATIENT_LOOKS = 100;
/** Nothing is asked for in advance for so long after a failed call. */
const QUIET_MS = 1_000;
/** A client that sends a request in this part of a window is taken to be there in the next one. */
const LAST_MOMENTS_MS = 1_500;

/** A call of the object that is under way. */
export type LeaseCall = { readonly sentAt: number; readonly expected: number };

/** A client's window as this isolate knows it. All times are of the isolate's own clock. */
type KnownWindow = {
  /** `Lease.window`. */
  id: number;
  /** Requests of the window that nobody holds. */
  left: number;
  /** The window surely lasts until then: it counts from when a call was sent. */
  endsAt: number;
  /** The window is surely over from then on: it counts from when an answer came. */
  overAt: number;
};

/** The pool of one client and counter. Each `now` is in milliseconds since the epoch. */
export class Pool {
  readonly #limit: number;
  readonly #callTime: CallTime;
  readonly #pace: Pace;
  readonly #calls = new Set<LeaseCall>();
  #window: KnownWindow | undefined;
  #tokens = 0;
  #waiting = 0;
  /** The window whose end was announced last: `lastMomentsMs` announces each once. */
  #announced: number | undefined;
  #quietUntil = 0;

  constructor(limit: number, callTime = new CallTime()) {
    this.#limit = limit;
    this.#callTime = callTime;
    this.#pace = new Pace(limit);
  }

  /**
   * Spends a request, or refuses it when the window is known to be full. Undefined when it has to wait;
   * one that has no time left does not wait for calls under way.
   */
  count(now: number, hasTime = true): Count | undefined {
    const window = this.#windowAt(now);
    if (window === undefined) return undefined;
    const resetMs = window.overAt - now;
    if (this.#tokens > 0) {
      this.#tokens -= 1;
      return {
        outcome: 'allowed',
        limit: this.#limit,
        remaining: window.left + this.#tokens,
        resetMs,
      };
    }
    // A call under way may still bring what it was granted.
    if (window.left > 0 || (hasTime && this.#calls.size > 0)) return undefined;
    return { outcome: 'refused', limit: this.#limit, remaining: 0, resetMs };
  }

  /** A request begins to wait. Many at the begin of a window say nothing of how fast the client is. */
  beginWaiting(now: number): void {
    this.#waiting += 1;
    if (this.#calls.size > 0 && this.#windowAt(now) !== undefined) this.#pace.ranDry();
  }

  /** A request ceases to wait. */
  endWaiting(): void {
    this.#waiting -= 1;
  }

  /**
   * Returns how many requests a waiting request asks for; 0 when it had better wait for calls under way,
   * or nothing is left in the window. `looks` counts how often it has waited.
   */
  wantedNow(looks: number, now: number): number {
    if (this.#windowAt(now)?.left === 0) return 0;
    const expected = this.#expected(now);
    const left = this.#leftBeyond(expected, now);
    // Calls under way bring enough, or have asked for all that is left.
    const isComing = expected > 0 && (this.#waiting <= expected || left <= 0);
    if (isComing && looks < PATIENT_LOOKS) return 0;
    return Math.max(1, this.#largestWanted(expected, left));
  }

  /**
   * Returns how many requests to ask for beside a call under way, when a request has waited for half of
   * it; 0 unless the client is faster than its leases. So they come half a call apart.
   */
  wantedBeside(now: number): number {
    if (!this.#pace.isFast) return 0;
    const expected = this.#expected(now);
    const wanted = this.#largestWanted(expected, this.#leftBeyond(expected, now));
    return wanted < this.#pace.smallestBeside ? 0 : wanted;
  }

  /** Returns how many milliseconds a waiting request pauses before it looks again. */
  pauseMs(now: number): number {
    const [oldest] = this.#calls;
    return this.#callTime.pauseMs(oldest === undefined ? 0 : now - oldest.sentAt);
  }

  /**
   * Returns how many requests to ask for in advance, and 0 for not yet. A first lease is spent before
   * that: most clients send no more.
   */
  wantedInAdvance(now: number): number {
    const window = this.#windowAt(now);
    if (window === undefined || now < this.#quietUntil) return 0;
    const first = firstLease(this.#limit);
    const isFirst = this.#limit - window.left <= first;
    if (isFirst && (this.#tokens > 0 || first === 1)) return 0;
    const expected = this.#expected(now);
    const held = this.#tokens + expected - this.#waiting;
    const room = largestLease(this.#limit) - held;
    const next = Math.min(nextLease(this.#limit, window.left - expected), this.#pace.largestAsk);
    if (room < 1 || next < 1) return 0;
    // To ask later would bring more, unless so little is left that the next lease fits in already.
    return held <= this.#pace.reserve || next <= room ? Math.min(room, next) : 0;
  }

  /**
   * Returns in how many milliseconds the window is over, in its last moments; undefined before, and when
   * it was told already. Then the next one can be opened.
   */
  lastMomentsMs(now: number): number | undefined {
    const window = this.#windowAt(now);
    if (window === undefined || window.id === this.#announced) return undefined;
    const leftMs = window.overAt - now;
    if (leftMs > LAST_MOMENTS_MS) return undefined;
    this.#announced = window.id;
    return leftMs;
  }

  /** Reports whether no window is known, and none will be without a call. */
  isIdle(now: number): boolean {
    return this.#windowAt(now) === undefined && this.#calls.size === 0;
  }

  /** Notes a call for `wanted` requests, before it is sent. */
  begin(wanted: number, now: number): LeaseCall {
    const left = this.#leftBeyond(this.#expected(now), now);
    const call = { sentAt: now, expected: Math.min(wanted, nextLease(this.#limit, left)) };
    this.#calls.add(call);
    return call;
  }

  /** Adds what a call was granted. Without a lease the call has failed; its answer may still come. */
  end(call: LeaseCall, lease: Lease | undefined, now: number): void {
    this.#calls.delete(call);
    if (lease === undefined) {
      this.#quietUntil = now + QUIET_MS;
      return;
    }
    this.#callTime.learn(now - call.sentAt);
    this.#add(lease, call.sentAt, now);
  }

  #add(lease: Lease, sentAt: number, now: number): void {
    const endsAt = sentAt + lease.resetMs;
    const overAt = now + lease.resetMs;
    if (endsAt <= now) return;
    const known = this.#window;
    if (known?.id === lease.window) {
      // Answers may overtake each other.
      known.left = Math.min(known.left, lease.left);
      known.endsAt = Math.max(known.endsAt, endsAt);
      known.overAt = Math.min(known.overAt, overAt);
    } else {
      if ((this.#windowAt(now)?.endsAt ?? 0) > endsAt) return;
      this.#window = { id: lease.window, left: lease.left, endsAt, overAt };
      this.#tokens = 0;
    }
    // The object has debited it: what is not kept would be lost to everybody.
    this.#tokens += lease.granted;
  }

  /** Returns the window while it surely lasts. One that ends too far ahead is of a clock that was set back. */
  #windowAt(now: number): KnownWindow | undefined {
    const lastsMs = (this.#window?.endsAt ?? now) - now;
    return lastsMs > 0 && lastsMs < 2_000 * WINDOW_SECONDS ? this.#window : undefined;
  }

  /** Returns the largest lease that there is room for, besides what calls under way bring. */
  #largestWanted(expected: number, left: number): number {
    const room = largestLease(this.#limit) + this.#waiting - expected;
    return Math.min(room, this.#pace.largestAsk, nextLease(this.#limit, left));
  }

  /** Returns what the calls under way bring, as far as they can be relied on. An older one may be lost. */
  #expected(now: number): number {
    let expected = 0;
    for (const call of this.#calls) {
      if (now - call.sentAt < PATIENCE_MS) expected += call.expected;
    }
    return expected;
  }

  /** Returns what the object has left once it has answered the calls under way, as far as is known. */
  #leftBeyond(expected: number, now: number): number {
    return (this.#windowAt(now)?.left ?? this.#limit) - expected;
  }
}
