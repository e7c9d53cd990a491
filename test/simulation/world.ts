/** A simulated deployment: isolates of the real service, and all that they call. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { TEST_VARS } from '../support/vars.ts';
import { type Calling, call, countFault, type Service } from './calls.ts';
import { Database, d1Binding } from './d1.ts';
import { EdgeCache } from './edge-cache.ts';
import { Kv } from './kv.ts';
import { addByteMethods, cryptoOf, type Globals, type Source } from './modules.ts';
import { CounterObject, type ObjectClass } from './objects.ts';
import { Random } from './random.ts';
import { type Owner, Scheduler } from './scheduler.ts';

/** The vars of every run, except those that a run sets. A malformed var would make every answer a 500. */
export const VARS = {
  ...TEST_VARS,
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
  IDEMPOTENCY_RETENTION_SECONDS: '60',
  FEED_MEMORY_BYTES: '1048576',
  API_KEY: 'simulated-key',
};
const ORIGIN = 'https://api.example.com';

/** A share of the writes that KV and the edge cache accept and lose. */
const LOST_WRITES = 0.05;

type App = { fetch(request: Request, env: object, context: object): Promise<Response> };

/** The piece of work that the running code belongs to, and its share of the randomness. */
type Task = { name: string; random: Random; roughness: number };

const tasks = new AsyncLocalStorage<Task>();
const KEEPER: Task = { name: 'none', random: new Random('none'), roughness: 0 };

/** A place in the deployment that runs isolates one after the other, with a clock of its own. */
type Machine = {
  clockOffset: number;
  place: string;
  isolate: Isolate;
};

/** One isolate. When it is killed, nothing goes on that it waited for. */
export type Isolate = Owner & { name: string; app: App; env: object };

/** One call of a counter object. Times are true ones, in milliseconds since the epoch. */
export type CounterCall = {
  client: string;
  counter: string;
  isolate: string;
  task: string;
  method: string;
  sentAt: number;
  doneAt?: number;
  answeredAt?: number;
  answer?: unknown;
};

/** The outcome of one request. Without an answer, `end` is infinite. */
export type Exchange = {
  task: string;
  isolate: string;
  request: SimulatedRequest;
  start: number;
  end: number;
  status?: number;
  headers?: Headers;
  body?: unknown;
};

export type SimulatedRequest = {
  method: 'GET' | 'POST';
  path: string;
  client: string;
  headers?: Record<string, string>;
  body?: string;
  /** Records the request in the history. */
  label: string;
};

/** The parts that runs share, because they are dear to make. */
export class Fleet {
  readonly primary = new Database();
  readonly replica = new Database();
  readonly #loaded: { imports: (path: string) => Record<string, unknown>; machine: MachineClock }[];
  readonly objects: { ObjectClass: ObjectClass; machine: MachineClock };

  /** Loads the source once for each machine, and once for the objects. */
  constructor(source: Source, machines: number) {
    addByteMethods();
    const load = () => {
      const machine = new MachineClock();
      return { imports: source.load(machine.globals()), machine };
    };
    this.#loaded = Array.from({ length: machines }, load);
    const { imports, machine } = load();
    const { RateCounter } = imports('rate-limit/counter.ts');
    this.objects = { ObjectClass: RateCounter as ObjectClass, machine };
  }

  /** Returns a new service on a machine. */
  start(index: number): { app: App; machine: MachineClock } {
    const loaded = this.#loaded[index];
    if (loaded === undefined) throw new Error(`there is no machine ${index}`);
    const createApp = loaded.imports('app.ts').createApp as () => App;
    return { app: createApp(), machine: loaded.machine };
  }
}

/** The globals of one machine. The world that runs at present sets the clock. */
class MachineClock {
  offset = 0;
  scheduler = new Scheduler();
  cache: object = {};
  /** Who waits for the timers that are set. */
  owner: () => Owner = () => ({ isAlive: true });

  globals(): Globals {
    const now = () => this.scheduler.now + this.offset;
    const RealDate = Date;
    class SimulatedDate extends RealDate {
      constructor(...values: unknown[]) {
        super(...((values.length === 0 ? [now()] : values) as [number]));
      }
      static override now(): number {
        return now();
      }
    }
    const simulatedMath = Object.create(Math, {
      random: { value: () => taskNow().random.next() },
    });
    const timers = new Map<number, ReturnType<Scheduler['schedule']>>();
    let last = 0;
    const setTimer: Globals['setTimeout'] = (work, delay = 0, ...values) => {
      last += 1;
      const due = () => work(...values);
      timers.set(last, this.scheduler.schedule(delay, this.owner(), due, true));
      return last;
    };
    const machine = this;
    return {
      Date: SimulatedDate as DateConstructor,
      Math: simulatedMath,
      setTimeout: setTimer,
      clearTimeout: (timer) => {
        if (timer === undefined) return;
        this.scheduler.cancel(timers.get(timer));
        timers.delete(timer);
      },
      crypto: cryptoOf(() => taskNow().random.next()),
      caches: {
        get default() {
          return machine.cache;
        },
      },
      console: { log: () => {}, error: notePrograms, warn: () => {} },
      scheduler: { wait: (delay) => new Promise((go) => setTimer(() => go(), delay)) },
    };
  }
}

/** The faults of programs that cannot run: a name that is not declared, a method that is not there. */
export const PROGRAM_FAULTS = new Set<string>();

/** Records such faults from the log of the service. A variant with such a fault proves nothing. */
function notePrograms(line: string): void {
  const [fault] = /ReferenceError: [^\\"]*|TypeError: [^\\"]*is not a function/.exec(line) ?? [];
  if (fault !== undefined) PROGRAM_FAULTS.add(fault);
}

function taskNow(): Task {
  return tasks.getStore() ?? KEEPER;
}

export type WorldOptions = {
  seed: string;
  vars?: Record<string, string>;
  /** The clocks of the machines are ahead of the true time by these milliseconds, each in its place. */
  machines: readonly { clockOffset: number; place: string }[];
  /** No call that nothing is wrong with takes 0.1 s; otherwise it may take up to a second. */
  isSwift?: boolean;
};

export class World {
  readonly scheduler = new Scheduler();
  readonly fleet: Fleet;
  readonly exchanges: Exchange[] = [];
  readonly counterCalls: CounterCall[] = [];
  readonly evictions: { client: string; at: number; isIdle: boolean }[] = [];
  readonly machines: Machine[] = [];
  readonly objects = new Map<string, CounterObject>();
  readonly #kv = new Kv();
  readonly #edges = new Map<string, EdgeCache>();
  readonly #outages = new Set<Service>();
  readonly #random: Random;
  readonly #isSwift: boolean;
  readonly #vars: Record<string, string>;
  #isolates = 0;
  #stalledUntil = 0;

  constructor(fleet: Fleet, { seed, vars = {}, machines, isSwift = false }: WorldOptions) {
    this.fleet = fleet;
    this.#isSwift = isSwift;
    this.#random = new Random(seed);
    this.#vars = { ...VARS, ...vars };
    fleet.primary.clear();
    fleet.replica.clear();
    for (const [index, { clockOffset, place }] of machines.entries()) {
      this.machines.push({ clockOffset, place, isolate: this.#start(index, clockOffset, place) });
    }
    const { machine } = fleet.objects;
    machine.scheduler = this.scheduler;
  }

  /** Runs a piece of work with a share of the randomness that depends on its name alone. */
  run<T>(name: string, roughness: number, work: () => T): T {
    return tasks.run({ name, random: this.#random.fork(name), roughness }, work);
  }

  /** Kills the isolate of a machine. The next request there starts another. */
  kill(index: number): void {
    const machine = this.machines[index];
    if (machine === undefined) return;
    countFault('isolate killed');
    machine.isolate.isAlive = false;
    machine.isolate = this.#start(index, machine.clockOffset, machine.place);
  }

  /** Evicts the counter object of a client. */
  evict(client: string): void {
    countFault('object evicted');
    this.evictions.push({ client, at: this.scheduler.now, isIdle: false });
    this.objects.get(client)?.evict();
  }

  /** Takes a service out of order, for some milliseconds. */
  breakDown(service: Service, milliseconds: number): void {
    this.#outages.add(service);
    const end = () => this.#outages.delete(service);
    this.scheduler.schedule(milliseconds, { isAlive: true }, end);
  }

  /** Lets the calls of D1 hang, for some milliseconds. */
  stallD1(milliseconds: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.scheduler.now + milliseconds);
  }

  /** Sends a request to the isolate of a machine. A client that hangs up gets no answer. */
  async send(index: number, request: SimulatedRequest, hangUpMs?: number): Promise<Exchange> {
    const { isolate } = this.machines[index] ?? {};
    if (isolate === undefined) throw new Error(`there is no machine ${index}`);
    const { now } = this.scheduler;
    const exchange: Exchange = {
      task: taskNow().name,
      isolate: isolate.name,
      request,
      start: now,
      end: Number.POSITIVE_INFINITY,
    };
    this.exchanges.push(exchange);
    const response = await isolate.app.fetch(
      new Request(`${ORIGIN}${request.path}`, {
        method: request.method,
        headers: {
          'x-api-key': VARS.API_KEY,
          'CF-Connecting-IP': request.client,
          ...(request.body !== undefined && { 'Content-Type': 'application/json' }),
          ...request.headers,
        },
        ...(request.body !== undefined && { body: request.body }),
      }),
      isolate.env,
      { waitUntil: () => {}, passThroughOnException: () => {}, props: {} },
    );
    if (!isolate.isAlive) return exchange;
    if (hangUpMs !== undefined && this.scheduler.now - now >= hangUpMs) {
      countFault('client hung up');
      return exchange;
    }
    const text = await this.scheduler.reading(response.text());
    exchange.end = this.scheduler.now;
    exchange.status = response.status;
    exchange.headers = response.headers;
    exchange.body = text === '' ? undefined : JSON.parse(text);
    return exchange;
  }

  /** Calls a counter object for an isolate. */
  async #callCounter(
    caller: Isolate,
    client: string,
    method: string,
    values: readonly unknown[],
  ): Promise<unknown> {
    const record: CounterCall = {
      client,
      counter: String(values[0]),
      isolate: caller.name,
      task: taskNow().name,
      method,
      sentAt: this.scheduler.now,
    };
    this.counterCalls.push(record);
    const result = await call('counter', this.#calling(caller), () => {
      const object = this.#objectOf(client);
      const result = object.call(method, values);
      record.doneAt = this.scheduler.now;
      record.answer = result;
      return result;
    });
    record.answeredAt = this.scheduler.now;
    return result;
  }

  #objectOf(client: string): CounterObject {
    const known = this.objects.get(client);
    if (known !== undefined) return known;
    const { ObjectClass, machine } = this.fleet.objects;
    const random = this.#random.fork(`object ${client}`);
    const object = new CounterObject(
      {
        scheduler: this.scheduler,
        ObjectClass,
        setClock: (offset) => {
          machine.offset = offset;
        },
        alarmDelay: () => random.next(),
        onIdle: (at) => {
          countFault('object idle');
          this.evictions.push({ client, at, isIdle: true });
        },
      },
      random.between(-2_000, 2_000),
    );
    this.objects.set(client, object);
    return object;
  }

  #start(index: number, clockOffset: number, place: string): Isolate {
    const { app, machine } = this.fleet.start(index);
    this.#isolates += 1;
    const isolate: Isolate = { isAlive: true, name: `isolate ${this.#isolates}`, app, env: {} };
    machine.scheduler = this.scheduler;
    machine.offset = clockOffset;
    machine.owner = () => isolate;
    machine.cache = this.#edgeCacheOf(isolate, place);
    isolate.env = this.#envOf(isolate, place);
    return isolate;
  }

  #calling(caller: Owner): Calling {
    const { random, roughness } = taskNow();
    const isOut = (service: Service) => this.#outages.has(service);
    const isStalled = (service: Service) =>
      service === 'D1' && this.scheduler.now < this.#stalledUntil;
    const { scheduler } = this;
    return { scheduler, random, roughness, isSwift: this.#isSwift, caller, isOut, isStalled };
  }

  #envOf(isolate: Isolate, place: string): object {
    const { primary, replica } = this.fleet;
    const now = () => this.scheduler.now;
    return {
      ...this.#vars,
      DB: d1Binding(primary, replica, (effect) => call('D1', this.#calling(isolate), effect)),
      IDEMPOTENCY: {
        get: async (key: string) => {
          const calling = this.#calling(isolate);
          const text = await call('KV', calling, () => this.#kv.get(place, key, now()));
          return text === null ? null : JSON.parse(text);
        },
        put: (key: string, value: string, { expirationTtl }: { expirationTtl: number }) => {
          const calling = this.#calling(isolate);
          const isLost = calling.random.chance(LOST_WRITES);
          const effect = () => this.#kv.put(place, key, value, now(), expirationTtl, isLost);
          return call('KV', calling, effect);
        },
      },
      RATE_COUNTER: {
        idFromName: (name: string) => name,
        get: (client: string) =>
          new Proxy(
            {},
            {
              get:
                (_, method) =>
                (...values: unknown[]) =>
                  this.#callCounter(isolate, client, String(method), values),
            },
          ),
      },
    };
  }

  #edgeCacheOf(isolate: Isolate, place: string): object {
    const cache = this.#edges.get(place) ?? new EdgeCache();
    this.#edges.set(place, cache);
    const now = () => this.scheduler.now;
    const made = <T>(effect: () => T) => call('edge cache', this.#calling(isolate), effect);
    return {
      match: (url: string) => made(() => cache.match(url, now())),
      put: async (url: string, response: Response) => {
        const bytes = await this.scheduler.reading(response.arrayBuffer());
        const isForgotten = this.#calling(isolate).random.chance(LOST_WRITES);
        await made(() => cache.put(url, response.headers, bytes, now(), isForgotten));
      },
      delete: (url: string) => made(() => cache.delete(url)),
    };
  }
}
