/**
 * A computer of the deployment: the source, loaded once, with a clock, timers and randomness.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, createHmac } from 'node:crypto';
import { v4 } from 'uuid';
import type { Service, Source } from './bundle.ts';
import { Random } from './random.ts';
import { type Event, type Owner, Scheduler } from './scheduler.ts';

/** The piece of work that the running code belongs to, and its share of the randomness. */
type Task = { name: string; random: Random; roughness: number };

export const tasks = new AsyncLocalStorage<Task>();
const OUTSIDE: Task = { name: 'none', random: new Random('none'), roughness: 0 };

export function taskNow(): Task {
  return tasks.getStore() ?? OUTSIDE;
}

/** One isolate. When it is killed, nothing goes on that it waited for. */
type Isolate = Owner & { name: string; serve: (request: Request) => Promise<Response> };

export class Machine {
  /** The clock is ahead of the true time by these milliseconds. */
  clockOffset = 0;
  place = '';
  scheduler = new Scheduler();
  /** Its isolates run one after the other. */
  isolate: Isolate = { isAlive: true, name: 'none', serve: async () => Response.error() };
  readonly service: Service;

  constructor(source: Source) {
    this.service = source(this.#globals());
  }

  /** Returns the time by the machine's clock. */
  now(): number {
    return this.scheduler.now + this.scheduler.clockError + this.clockOffset;
  }

  #globals(): object {
    const now = () => this.now();
    class SimulatedDate extends Date {
      constructor(...values: unknown[]) {
        super(...((values.length === 0 ? [now()] : values) as [number]));
      }
      static override now(): number {
        return now();
      }
    }
    return {
      Date: SimulatedDate,
      Math: Object.create(Math, { random: { value: () => taskNow().random.next() } }),
      setTimeout: (work: (...values: unknown[]) => void, delay: number, ...values: unknown[]) =>
        this.scheduler.schedule(delay, () => work(...values), this.isolate),
      clearTimeout: (timer?: Event) => {
        if (timer !== undefined) timer.owner = { isAlive: false };
      },
      crypto: CRYPTO,
      console: { log: () => {}, error: () => {}, warn: () => {} },
    };
  }
}

/** The platform's `crypto`. Its promises settle at once: Node's wait for other threads. */
const CRYPTO = {
  subtle: {
    digest: async (_: string, bytes: Uint8Array) =>
      Uint8Array.from(createHash('sha256').update(bytes).digest()).buffer,
    importKey: async (_: string, bytes: Uint8Array) => bytes,
    sign: async (_: string, key: Uint8Array, bytes: Uint8Array) =>
      Uint8Array.from(createHmac('sha256', key).update(bytes).digest()).buffer,
    timingSafeEqual: (a: ArrayBuffer, b: Uint8Array) => Buffer.from(a).equals(b),
  },
  randomUUID: () =>
    v4({ random: Uint8Array.from({ length: 16 }, () => taskNow().random.between(0, 255)) }),
};
