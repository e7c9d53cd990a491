/**
 * Clients that this isolate knows to be over their limit, so that a flood is refused without waking
 * the object that counts it.
 */

import type { CounterName } from './counter.ts';

/** Far more than flood one isolate at a time; the longest known goes first. */
const MAX_OFFENDERS = 10_000;

/** Bounded; what is over is forgotten when it is next asked for. */
export class Offenders {
  /** Counter and client → end of the full window, in milliseconds since the epoch. */
  readonly #until = new Map<string, number>();

  /** `until`: the end of the full window, in milliseconds since the epoch. */
  add(counter: CounterName, client: string, until: number): void {
    const key = keyOf(counter, client);
    this.#until.delete(key);
    this.#until.set(key, until);
    if (this.#until.size <= MAX_OFFENDERS) return;
    const [oldest = key] = this.#until.keys();
    this.#until.delete(oldest);
  }

  /** Milliseconds until the client's window resets; undefined for one that is not known to be over its limit. */
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
