/**
 * What this isolate holds of one client's window: the requests that the object granted and nobody has
 * spent. Plain data without I/O, because requests of one isolate share data but cannot wait for each
 * other's promises.
 *
 * Held and asked for, less the requests that wait, never exceed a tenth of the limit: that is all that
 * a client can miss of its limit at another isolate.
 */

import { firstLease, type Lease, largestLease, nextLease } from './lease.ts';
import { type Count, WINDOW_SECONDS } from './window.ts';

/**
 * The reserve, as a part of the largest lease: a small one makes few calls, and a large one lets a fast
 * client wait less. It grows by `FIRST_RESERVE` each time that the pool runs dry with a call under way.
 */
const FIRST_RESERVE = 1 / 10;
const MAX_RESERVE = 1 / 2;
/** After a failed call, nothing is asked for in advance for a while. */
const QUIET_MS = 1_000;

/** A call of the object that is under way. */
export type LeaseCall = { readonly sentAt: number; readonly expected: number };

/** A client's window as this isolate knows it. All times are of the isolate's own clock. */
type KnownWindow = {
  /** `Lease.window`. */
  id: number;
  /** Requests of the window that nobody holds. */
  left: number;
  /** Until then the window surely lasts: it counts from when a call was sent. */
  endsAt: number;
  /** From then on the window is surely over: it counts from when an answer came. */
  overAt: number;
};

/** The pool of one client and counter. Each `now` is in milliseconds since the epoch. */
export class Pool {
  readonly #limit: number;
  readonly #calls = new Set<LeaseCall>();
  #window: KnownWindow | undefined;
  #tokens = 0;
  #waiting = 0;
  /** The next lease is fetched when no more than this is held. */
  #reserve: number;
  #quietUntil = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#reserve = Math.floor(largestLease(limit) * FIRST_RESERVE);
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

  /** Reports whether a call is under way. */
  get hasCalls(): boolean {
    return this.#calls.size > 0;
  }

  /** A request begins or ceases to wait. */
  addWaiting(requests: 1 | -1): void {
    this.#waiting += requests;
  }

  /** A request has waited for a lease that was fetched in advance: the next one is fetched earlier. */
  raiseReserve(): void {
    const largest = largestLease(this.#limit);
    const step = Math.max(1, Math.floor(largest * FIRST_RESERVE));
    this.#reserve = Math.min(this.#reserve + step, Math.floor(largest * MAX_RESERVE));
  }

  /** Returns how many requests a waiting request asks for; 0 when nothing is left in the window. */
  wantedNow(now: number): number {
    if (this.#windowAt(now)?.left === 0) return 0;
    const expected = this.#expected();
    const left = this.#leftBeyond(expected, now);
    const room = largestLease(this.#limit) + this.#waiting - expected;
    return Math.max(1, Math.min(room, nextLease(this.#limit, left)));
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
    const expected = this.#expected();
    const held = this.#tokens + expected - this.#waiting;
    const room = largestLease(this.#limit) - held;
    const next = nextLease(this.#limit, window.left - expected);
    if (room < 1 || next < 1) return 0;
    // To ask later would bring more, unless so little is left that the next lease fits in already.
    return held <= this.#reserve || next <= room ? Math.min(room, next) : 0;
  }

  /** Notes a call for `wanted` requests, before it is sent. */
  begin(wanted: number, now: number): LeaseCall {
    const left = this.#leftBeyond(this.#expected(), now);
    const call = { sentAt: now, expected: Math.min(wanted, nextLease(this.#limit, left)) };
    this.#calls.add(call);
    return call;
  }

  /** Adds what a call was granted. Without a lease the call has failed; its answer may still come. */
  end(call: LeaseCall, lease: Lease | undefined, now: number): void {
    this.#calls.delete(call);
    if (lease === undefined) this.#quietUntil = now + QUIET_MS;
    else this.#add(lease, call.sentAt, now);
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
    const most = largestLease(this.#limit) + this.#waiting;
    this.#tokens = Math.min(this.#tokens + lease.granted, most);
  }

  /** Returns the window while it surely lasts. One that ends too far ahead is of a clock that was set back. */
  #windowAt(now: number): KnownWindow | undefined {
    const lastsMs = (this.#window?.endsAt ?? now) - now;
    return lastsMs > 0 && lastsMs < 2_000 * WINDOW_SECONDS ? this.#window : undefined;
  }

  #expected(): number {
    let expected = 0;
    for (const call of this.#calls) expected += call.expected;
    return expected;
  }

  /** Returns what the object has left once it has answered the calls under way, as far as is known. */
  #leftBeyond(expected: number, now: number): number {
    return (this.#windowAt(now)?.left ?? this.#limit) - expected;
  }
}
