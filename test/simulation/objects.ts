/**
 * Durable Objects: one instance per name, of the real class, over a storage that outlives it. An object
 * that is evicted loses its memory. It runs on a machine with a clock of its own.
 */

import type { Scheduler } from './scheduler.ts';

/** An object that has not been called for so long loses its memory. */
const IDLE_MS = 10_000;
/** An alarm may come some time after it is due. */
const MAX_ALARM_DELAY_MS = 2_000;
/** Far more alarms than an object sets in a run. */
const MAX_ALARMS = 200;

type Method = (...values: unknown[]) => unknown;
export type ObjectClass = new (ctx: object, env: object) => Record<string, Method>;

type Storage = { entries: Map<string, unknown>; alarm: number | null };

/** The parts of a machine that its objects need. */
export type ObjectMachine = {
  scheduler: Scheduler;
  ObjectClass: ObjectClass;
  /** The machine's clock is ahead of the true time by these milliseconds. */
  setClock(offset: number): void;
  /** Draws the delay of an alarm, from 0 to 1. */
  alarmDelay(): number;
  /** The object has lost its memory because it was idle, at this true time. */
  onIdle(at: number): void;
};

export class CounterObject {
  /** The clock of this object's machine is ahead of the true time by these milliseconds. */
  readonly clockOffset: number;
  readonly #machine: ObjectMachine;
  readonly #storage: Storage = { entries: new Map(), alarm: null };
  #instance: Record<string, Method> | undefined;
  #idleFrom = Number.POSITIVE_INFINITY;
  #alarms = 0;

  constructor(machine: ObjectMachine, clockOffset: number) {
    this.#machine = machine;
    this.clockOffset = clockOffset;
  }

  get isEmpty(): boolean {
    return this.#storage.entries.size === 0;
  }

  evict(): void {
    this.#instance = undefined;
  }

  /** Calls a method, which must answer at once, as the platform does: with copies. */
  call(method: string, values: readonly unknown[]): unknown {
    const instance = this.#awake();
    const own = instance[method];
    if (typeof own !== 'function') {
      throw new TypeError(`The RPC receiver does not implement the method "${method}".`);
    }
    const result = structuredClone(own.apply(instance, structuredClone([...values])));
    if (typeof result !== 'object' || result === null) return result;
    return Object.defineProperty(result, Symbol.dispose, { value: () => {}, enumerable: false });
  }

  #context(): object {
    const { entries } = this.#storage;
    const setAlarm = async (time: number | Date) => {
      const at = Number(time);
      this.#storage.alarm = at;
      const late = this.#machine.alarmDelay() * MAX_ALARM_DELAY_MS;
      const { scheduler } = this.#machine;
      const delay = at - this.clockOffset - scheduler.now + late;
      scheduler.schedule(delay, { isAlive: true }, () => {
        if (this.#storage.alarm === at) this.#wake();
      });
    };
    return {
      waitUntil: () => {},
      blockConcurrencyWhile: (work: () => unknown) => work(),
      storage: {
        kv: {
          get: (key: string) => structuredClone(entries.get(key)),
          put: (key: string, value: unknown) => void entries.set(key, structuredClone(value)),
          delete: (key: string) => entries.delete(key),
          list: () => [...structuredClone(entries)],
        },
        setAlarm,
        getAlarm: async () => this.#storage.alarm,
        deleteAlarm: async () => {
          this.#storage.alarm = null;
        },
        deleteAll: async () => {
          entries.clear();
          this.#storage.alarm = null;
        },
      },
    };
  }

  #wake(): void {
    this.#alarms += 1;
    if (this.#alarms > MAX_ALARMS) throw new Error('an object sets its alarm again and again');
    this.#storage.alarm = null;
    void this.#awake().alarm?.();
  }

  /** Returns the running instance, a new one after an idle time. */
  #awake(): Record<string, Method> {
    const { scheduler, ObjectClass, setClock, onIdle } = this.#machine;
    if (this.#instance !== undefined && scheduler.now >= this.#idleFrom) {
      this.evict();
      onIdle(this.#idleFrom);
    }
    this.#idleFrom = scheduler.now + IDLE_MS;
    setClock(this.clockOffset);
    this.#instance ??= new ObjectClass(this.#context(), {});
    return this.#instance;
  }
}
