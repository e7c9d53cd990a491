/**
 * Durable Objects: one instance per name, of the real class, over a storage that outlives it. An
 * object that is evicted loses its memory. Its machine has its own clock.
 */

import type { Instance } from './bundle.ts';
import type { Machine } from './isolate.ts';
import type { Random } from './random.ts';

/** An object that has not been called for this time loses its memory. */
const IDLE_MS = 10_000;
/** An alarm may come some time after it is due. */
const MAX_ALARM_DELAY_MS = 2_000;

/** What a counter stores for a policy: bucket → reporter → number of requests. */
type Stored = { spans: ReadonlyMap<number, ReadonlyMap<string, number>> };

export class CounterObject {
  /** Bucket and reporter → largest number of requests that was ever stored. */
  readonly largestCounts = new Map<number, Map<string, number>>();
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #clockOffset: number;
  readonly #entries = new Map<string, unknown>();
  #alarm: number | undefined;
  #instance: Instance | undefined;
  #idleFrom = Number.POSITIVE_INFINITY;

  constructor(machine: Machine, random: Random, clockOffset = 0) {
    this.#machine = machine;
    this.#random = random;
    this.#clockOffset = clockOffset;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  evict(): void {
    this.#instance = undefined;
  }

  /** Calls a method, which must return at once, as the platform does: with copies. */
  call(method: string, values: readonly unknown[]): object {
    const result = this.#running()[method]?.(...structuredClone([...values]));
    return { ...structuredClone(Object(result)), [Symbol.dispose]: () => {} };
  }

  #context(): object {
    const kv = {
      get: (key: string) => structuredClone(this.#entries.get(key)),
      put: (key: string, value: Stored) => {
        this.#entries.set(key, structuredClone(value));
        this.#recordCounts(value);
      },
      list: () => [...structuredClone(this.#entries)],
    };
    const deleteAll = async () => {
      this.#entries.clear();
      this.#alarm = undefined;
    };
    const setAlarm = async (at: number) => this.#setAlarm(at);
    return { waitUntil: () => {}, storage: { kv, setAlarm, deleteAll } };
  }

  #recordCounts({ spans }: Stored): void {
    for (const [bucket, reporters] of spans) {
      const largest = this.largestCounts.get(bucket) ?? new Map<string, number>();
      this.largestCounts.set(bucket, largest);
      for (const [reporter, count] of reporters) {
        largest.set(reporter, Math.max(largest.get(reporter) ?? 0, count));
      }
    }
  }

  #setAlarm(at: number): void {
    this.#alarm = at;
    const { scheduler } = this.#machine;
    const lateMs = this.#random.next() * MAX_ALARM_DELAY_MS;
    const now = scheduler.now + scheduler.clockError + this.#clockOffset;
    scheduler.schedule(at - now + lateMs, () => {
      if (this.#alarm === at) void this.#running().alarm?.();
    });
  }

  /** Returns the running instance, a new one after an idle time. */
  #running(): Instance {
    const machine = this.#machine;
    if (machine.scheduler.now >= this.#idleFrom) this.evict();
    this.#idleFrom = machine.scheduler.now + IDLE_MS;
    machine.clockOffset = this.#clockOffset;
    this.#instance ??= new machine.service.RateCounter(this.#context(), {});
    return this.#instance;
  }
}
