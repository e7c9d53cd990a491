/**
 * One client's requests in one window, counted by this isolate and reported to the client's object
 * (counter.ts). Most requests pass at once. While much is not confirmed, each request reserves a
 * place, and waits until the object grants or denies it.
 */

import type { Context } from 'hono';
import { type AppEnv, type Config, readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { addToLogField, logFault } from '../http/log.ts';
import { type CounterName, WINDOW_MS, WINDOW_SECONDS } from './window.ts';

/** An isolate reports each twelfth of the limit. From an unconfirmed fifth on, requests reserve. */
const REPORT_DIVISOR = 12;
const UNCONFIRMED_DIVISOR = 5;
/** Caps of the two. With them, 20 isolates exceed a limit of 6,000 by 8 %; without, by 137 %. */
const MAX_UNSENT = 25;
const MAX_UNCONFIRMED = 60;
/** After this time, the object counts as failing. */
const CALL_DEADLINE_MS = 300;
/** Between two reports to an object that fails. */
const PROBE_PAUSE_MS = 1_000;

type Tally = {
  passed: number;
  /** Requests that wait for the object. */
  reserved: number;
  /** The count of the latest report, perhaps not received yet. */
  sent: number;
  /** The greatest count that the object has confirmed. */
  confirmed: number;
  /** The requests of all other isolates, from the object's replies. */
  others: number;
};

/** `msSinceReport`: since the latest report was sent. */
type ObjectHealth = { isFailing: boolean; msSinceReport: number };

/** `report`: the request passes, and a report is due. Pure. */
function decide(
  { passed, reserved, sent, confirmed, others }: Tally,
  limit: number,
  { isFailing, msSinceReport }: ObjectHealth,
): 'pass' | 'report' | 'reserve' | 'reject' {
  if (passed + reserved + others >= limit) return 'reject';
  if (isFailing) return msSinceReport >= PROBE_PAUSE_MS ? 'report' : 'pass';
  const unconfirmed = passed + reserved - confirmed;
  const fifth = Math.max(1, Math.floor(limit / UNCONFIRMED_DIVISOR));
  if (unconfirmed >= Math.min(fifth, MAX_UNCONFIRMED)) return 'reserve';
  const passedWithThis = passed + 1;
  // `sent` may fall below `confirmed`: a reservation reports `passed + reserved`, a later report
  // only `passed`.
  const unsent = passedWithThis - Math.max(sent, confirmed);
  const twelfth = Math.max(1, Math.floor(limit / REPORT_DIVISOR));
  return unsent >= Math.min(twelfth, MAX_UNSENT) ? 'report' : 'pass';
}

/** `client` is an address, unless `isKey`: then it names the key. */
type Quota = { client: string; isKey: boolean; counter: CounterName; limit: number };

/** `called`: no reply since the call made at `at`. It counts as failing 300 ms later. */
type ObjectState = { kind: 'responding' } | { kind: 'called'; at: number } | { kind: 'failing' };

/** `overloaded`: the client floods its own object. */
type Verdict = 'passed' | 'rejected' | 'overloaded';

/** A window of one client on one counter. Times are in milliseconds since the epoch. */
export class ClientWindow {
  readonly #quota: Quota;
  /** The random id of this window (`Report`). */
  readonly #record = crypto.randomUUID();
  readonly #tally: Tally = { passed: 0, reserved: 0, sent: 0, confirmed: 0, others: 0 };
  #beganAt: number;
  #sentAt = Number.NEGATIVE_INFINITY;
  #objectState: ObjectState;

  /** `former` is the client's previous window. */
  constructor(quota: Quota, now: number, former?: ClientWindow) {
    this.#quota = quota;
    this.#beganAt = now;
    this.#objectState = former ? former.#objectState : { kind: 'responding' };
  }

  /** A clock that was set back by a whole window ends it too. */
  hasEnded(now: number): boolean {
    return Math.abs(now - this.#beganAt) >= WINDOW_MS;
  }

  /** After the end, that of a new window, which begins with the client's next request. */
  stateAt(now: number): { remaining: number; resetSeconds: number } {
    if (this.hasEnded(now)) return { remaining: this.#quota.limit, resetSeconds: WINDOW_SECONDS };
    const { passed, reserved, others } = this.#tally;
    const remaining = Math.max(0, this.#quota.limit - passed - reserved - others);
    const resetSeconds = Math.max(1, Math.ceil((this.#beganAt + WINDOW_MS - now) / 1_000));
    return { remaining, resetSeconds };
  }

  /** Counts a request. Only a reservation waits, at most 300 ms. Never throws. */
  admit({ env, executionCtx }: Context<AppEnv>, now: number): Verdict | Promise<Verdict> {
    const state = this.#objectState;
    const isLate = state.kind === 'called' && now > state.at + CALL_DEADLINE_MS;
    const isFailing = isLate || state.kind === 'failing';
    const decision = decide(this.#tally, this.#quota.limit, {
      isFailing,
      msSinceReport: now - this.#sentAt,
    });
    if (decision === 'reject') return 'rejected';
    if (decision === 'reserve') {
      const reserving = this.#reserve(env);
      // Even if the request is cancelled.
      executionCtx.waitUntil(reserving);
      return reserving;
    }
    this.#tally.passed += 1;
    if (decision === 'report') executionCtx.waitUntil(this.#send(env, this.#tally.passed, false));
    return 'passed';
  }

  /** The request passes unless the object denies the place in time, or is overloaded. */
  async #reserve(env: Env): Promise<Verdict> {
    const startedAt = Date.now();
    // Before the call, so that concurrent requests do not exceed the limit.
    this.#tally.reserved += 1;
    const calling = this.#send(env, this.#tally.passed + this.#tally.reserved, true);
    const result = await firstWithin(calling, CALL_DEADLINE_MS, 'late');
    if (result === 'late') this.#noteFault(new Error(`no reply within ${CALL_DEADLINE_MS} ms`));
    addToLogField('counter_ms', Date.now() - startedAt);
    this.#tally.reserved -= 1;
    if (result === 'denied') return 'rejected';
    if (result === 'overloaded') return 'overloaded';
    // Granted, or the object fails: then the isolate decides alone.
    this.#tally.passed += 1;
    return 'passed';
  }

  /** Sends a report. Only a reservation needs the result. Never throws. */
  async #send(
    env: Env,
    count: number,
    wantsPlace: boolean,
  ): Promise<'granted' | 'denied' | 'overloaded' | 'failed'> {
    const { client, isKey, counter, limit } = this.#quota;
    const now = Date.now();
    this.#tally.sent = count;
    this.#sentAt = now;
    if (this.#objectState.kind === 'responding') this.#objectState = { kind: 'called', at: now };
    try {
      const report = { record: this.#record, count, ageMs: now - this.#beganAt, wantsPlace };
      const name = isKey ? client : await nameOfAddress(env, client);
      // The result of a remote call keeps the call open until it is disposed of.
      using reply = await getObject(env, name).report(counter, limit, report);
      this.#objectState = { kind: 'responding' };
      // Replies may overtake each other: a smaller count is old.
      this.#tally.confirmed = Math.max(this.#tally.confirmed, reply.own);
      this.#tally.others = Math.max(this.#tally.others, reply.others);
      // The window began with the client's first request, perhaps in another isolate.
      this.#beganAt = Math.min(this.#beganAt, Date.now() - reply.ageMs);
      return reply.isGranted ? 'granted' : 'denied';
    } catch (error) {
      this.#noteFault(error);
      // The platform's mark of an object with too many requests.
      const isOverloaded = error instanceof Error && 'overloaded' in error && error.overloaded;
      return isOverloaded === true ? 'overloaded' : 'failed';
    }
  }

  /** Logs the first fault since the last reply. */
  #noteFault(error: unknown): void {
    if (this.#objectState.kind !== 'failing') logFault('rate counter failed', error);
    this.#objectState = { kind: 'failing' };
  }
}

/** A stub that has thrown stays broken: each call needs a new one. */
function getObject(env: Env, name: string) {
  const { jurisdiction } = readConfig(env);
  const objects = jurisdiction ? env.RATE_COUNTER.jurisdiction(jurisdiction) : env.RATE_COUNTER;
  return objects.get(objects.idFromName(name));
}

const encoder = new TextEncoder();
const namingKeys = new WeakMap<Config, Promise<CryptoKey>>();

/**
 * Returns an HMAC: the platform's metrics show the names of objects, also outside the jurisdiction.
 * Another first value of `API_KEY` restarts all counts.
 */
async function nameOfAddress(env: Env, address: string): Promise<string> {
  const config = readConfig(env);
  const secret = encoder.encode(config.apiKeys[0] ?? 'no API_KEY');
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const importing =
    namingKeys.get(config) ?? crypto.subtle.importKey('raw', secret, hmac, false, ['sign']);
  namingKeys.set(config, importing);
  const code = await crypto.subtle.sign(hmac.name, await importing, encoder.encode(address));
  return new Uint8Array(code).toHex();
}

/** Calls an object, for the health check. It stores nothing for an empty report. */
export async function callCounter(env: Env): Promise<void> {
  const report = { record: 'health', count: 0, ageMs: 0, wantsPlace: false };
  using _reply = await getObject(env, 'health').report('default', 1, report);
}
