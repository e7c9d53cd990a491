/** A simulated isolate. It runs the service with its own clock, timers and random numbers. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, createHmac } from 'node:crypto';
import { v4 } from 'uuid';
import type { Service, Source } from './bundle.ts';
import { Random } from './random.ts';
import { type Event, type Owner, Scheduler } from './scheduler.ts';

/** A task, with its own random numbers. Every call of the service belongs to one task. */
type Task = { name: string; random: Random; faultRate: number };

export const tasks = new AsyncLocalStorage<Task>();
const OUTSIDE: Task = { name: 'none', random: new Random('none'), faultRate: 0 };

export function getTask(): Task {
  return tasks.getStore() ?? OUTSIDE;
}

/** The running app of an isolate. Once it is killed, none of its calls and timers continue. */
type AppInstance = Owner & { name: string; serve: (request: Request) => Promise<Response> };

export class Isolate {
  /** Milliseconds by which the clock is ahead of the true time. */
  clockOffset = 0;
  place = '';
  scheduler = new Scheduler();
  /** The current instance. A restart replaces the instance without loading the source again. */
  instance: AppInstance = { isAlive: true, name: 'none', serve: async () => Response.error() };
  readonly service: Service;

  constructor(source: Source) {
    this.service = source(this.#globals());
  }

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
      Math: Object.create(Math, { random: { value: () => getTask().random.next() } }),
      setTimeout: (work: (...values: unknown[]) => void, delay: number, ...values: unknown[]) =>
        this.scheduler.schedule(delay, () => work(...values), this.instance),
      clearTimeout: (timer?: Event) => {
        if (timer !== undefined) timer.owner = { isAlive: false };
      },
      crypto: CRYPTO,
      console: { log: () => {}, error: () => {}, warn: () => {} },
    };
  }
}

/**
 * A replacement for the platform's `crypto`. Its promises settle immediately. Node's would wait for
 * other threads, and then a run could not be repeated exactly.
 */
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
    v4({ random: Uint8Array.from({ length: 16 }, () => getTask().random.between(0, 255)) }),
};
