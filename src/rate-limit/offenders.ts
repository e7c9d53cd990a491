/**
 * The clients that this isolate knows to be over their limit: a flood is refused without waking the
 * object that counts it.
 */

import type { CounterName } from './counter.ts';

/** Far more clients than flood one isolate at a time. */
const MAX_OFFENDERS = 10_000;

/** A bounded memory: the longest known goes first, and a client whose window is over when it is next asked for. */
export class Offenders {
  /** Counter and client → end of the full window, in milliseconds since the epoch. */
  readonly #until = new Map<string, number>();

  /** Remembers a client `until` its full window ends, in milliseconds since the epoch. */
  add(counter: CounterName, client: string, until: number): void {
    const key = keyOf(counter, client);
    this.#until.delete(key);
    this.#until.set(key, until);
    if (this.#until.size <= MAX_OFFENDERS) return;
    const [oldest = key] = this.#until.keys();
    this.#until.delete(oldest);
  }

  /** Returns the milliseconds until the client's window resets, or `undefined` for a client within its limit. */
  find(counter: CounterName, client: string, now: number): number | undefined {
    if (this.#until.size === 0) return undefined;
    const key = keyOf(counter, client);
    const until = this.#until.get(key);
    if (until === undefined) return undefined;
    if (until > now) return until - now;
    this.#until.delete(key);
    return undefined;
  }
}

function keyOf(counter: CounterName, client: string): string {
  return `${counter} ${client}`;
}
