/**
 * Simulates Durable Objects with the real class. An evicted object loses its memory, but keeps its
 * storage.
 */

import type { Instance } from './bundle.ts';
import type { Isolate } from './isolate.ts';
import type { Random } from './random.ts';

/** Idle time after which an object loses its memory. */
const IDLE_MS = 10_000;
const MAX_ALARM_DELAY_MS = 2_000;

/**
 * The stored value of a counter. `spans` maps each bucket to the number of requests per reporter.
 */
type Stored = { spans: ReadonlyMap<number, ReadonlyMap<string, number>> };

export class CounterObject {
  /** The highest request count stored so far in this run, per bucket and reporter. */
  readonly largestCounts = new Map<number, Map<string, number>>();
  readonly #isolate: Isolate;
  readonly #random: Random;
  readonly #clockOffset: number;
  readonly #entries = new Map<string, unknown>();
  #alarm: number | undefined;
  #instance: Instance | undefined;
  #idleFrom = Number.POSITIVE_INFINITY;

  constructor(isolate: Isolate, random: Random, clockOffset = 0) {
    this.#isolate = isolate;
    this.#random = random;
    this.#clockOffset = clockOffset;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  evict(): void {
    this.#instance = undefined;
  }

  /** Calls a synchronous method. Like the platform, it copies the arguments and the result. */
  call(method: string, values: readonly unknown[]): object {
    const result = this.#getInstance()[method]?.(...structuredClone([...values]));
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
    const { scheduler } = this.#isolate;
    const lateMs = this.#random.next() * MAX_ALARM_DELAY_MS;
    const now = scheduler.now + scheduler.clockError + this.#clockOffset;
    scheduler.schedule(at - now + lateMs, () => {
      if (this.#alarm === at) void this.#getInstance().alarm?.();
    });
  }

  /** Returns the running instance. Starts a new one after an eviction. */
  #getInstance(): Instance {
    const isolate = this.#isolate;
    if (isolate.scheduler.now >= this.#idleFrom) this.evict();
    this.#idleFrom = isolate.scheduler.now + IDLE_MS;
    isolate.clockOffset = this.#clockOffset;
    this.#instance ??= new isolate.service.RateCounter(this.#context(), {});
    return this.#instance;
  }
}
