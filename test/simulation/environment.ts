/** A simulated deployment: isolates of the real service, and all that they call. */

import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { databaseOver } from '../../tools/database/d1.ts';
import { Database } from '../support/cloudflare/database.ts';
import { TEST_VARS } from '../support/vars.ts';
import type { Source } from './bundle.ts';
import { fateOf, type Service } from './calls.ts';
import { Machine, taskNow, tasks } from './isolate.ts';
import { Kv } from './kv.ts';
import { CounterObject } from './objects.ts';
import { Random } from './random.ts';
import { type Owner, Scheduler, START } from './scheduler.ts';

const API_KEY = 'the-simulated-key';
/**
 * The vars of every run, except those that a run sets. A malformed var would make every response a
 * 500.
 */
const VARS = {
  ...TEST_VARS,
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
  API_KEY,
};

/** A share of the writes that KV accepts and loses. */
const LOST_WRITES = 0.05;

const CONTEXT = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

/** The machines that runs share, because loading the source takes time. */
export class Fleet {
  readonly objects: Machine;
  readonly #source: Source;
  readonly #machines: Machine[] = [];

  constructor(source: Source) {
    this.#source = source;
    this.objects = new Machine(source);
  }

  machine(index: number): Machine {
    this.#machines[index] ??= new Machine(this.#source);
    return this.#machines[index];
  }
}

/** A request with a body is a POST. */
type SimulatedRequest = {
  path: string;
  client?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds until the client hangs up. */
  hangUpMs?: number | undefined;
};

/** The outcome of one request. Without a response, `end` is infinite. Times are true ones. */
export type Exchange = {
  task: string;
  request: SimulatedRequest;
  /** Name of the isolate that got the request, and its time by the clock of that isolate. */
  isolate: string;
  clock: number;
  start: number;
  end: number;
  status?: number;
  headers?: Headers;
  body?: unknown;
};

export type WorldOptions = {
  seed: string;
  vars?: Record<string, string>;
  /**
   * The clocks of the machines are ahead of the true time by these milliseconds, each in its place.
   */
  machines: readonly { clockOffset: number; place: string }[];
  /** The clock of the counters is ahead by these milliseconds. */
  counterOffset?: number;
  /** No call that nothing is wrong with takes 0.1 s; otherwise it may take up to a second. */
  isSwift?: boolean;
};

export class World {
  readonly scheduler = new Scheduler();
  /** D1: real SQLite. A batch is a transaction. */
  readonly database = new Database('simulated').migrate();
  readonly exchanges: Exchange[] = [];
  /** A line for all that happens, for the test that fails. */
  readonly history: string[] = [];
  readonly objects = new Map<string, CounterObject>();
  /** Reporter id → one of the requests that the reporter has counted. */
  readonly reporters = new Map<string, Exchange>();
  readonly #fleet: Fleet;
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #kv = new Kv();
  readonly #brokenUntil = new Map<Service, number>();
  #isolates = 0;

  constructor(fleet: Fleet, options: WorldOptions) {
    this.#fleet = fleet;
    this.#options = options;
    this.#random = new Random(options.seed);
    const { scheduler } = this;
    this.database.sqlite.exec("update database_identity set generation = 'simulated'");
    fleet.objects.scheduler = scheduler;
    for (const [index, own] of options.machines.entries()) {
      this.#start(Object.assign(fleet.machine(index), { ...own, scheduler }));
    }
  }

  note(line: string): void {
    this.history.push(`${timeOf(this.scheduler.now)} ${line}`);
  }

  /** Runs a piece of work with a share of the randomness that depends on its name alone. */
  run<T>(name: string, roughness: number, work: () => T): T {
    return tasks.run({ name, random: this.#random.fork(name), roughness }, work);
  }

  /** Kills the isolate of a machine and starts another. */
  kill(index: number): void {
    const machine = this.#fleet.machine(index);
    this.note(`${machine.isolate.name} is killed`);
    machine.isolate.isAlive = false;
    this.#start(machine);
  }

  /** Sets the clocks of all machines back. */
  setClocksBack(milliseconds: number): void {
    this.note(`all clocks are set back by ${milliseconds} ms`);
    this.scheduler.clockError -= milliseconds;
  }

  /** Evicts the counter of an address, or of `key NAME`. */
  evict(client: string): void {
    this.note(`the counter of ${client} is evicted`);
    const ofAddress = createHmac('sha256', API_KEY).update(client).digest('hex');
    this.objects.get(client.startsWith('key ') ? client : ofAddress)?.evict();
  }

  /** Lets all calls of a service fail for some milliseconds. */
  breakDown(service: Service, milliseconds: number): void {
    this.note(`${service}: out of order for ${milliseconds} ms`);
    this.#brokenUntil.set(service, this.scheduler.now + milliseconds);
  }

  /** Sends a request to the isolate of a machine. A client that hangs up gets no response. */
  async send(index: number, request: SimulatedRequest): Promise<Exchange> {
    const machine = this.#fleet.machine(index);
    const { isolate } = machine;
    const { path, client = '203.0.113.1', headers, body, hangUpMs } = request;
    const [start, task] = [this.scheduler.now, taskNow().name];
    const end = Number.POSITIVE_INFINITY;
    const exchange: Exchange = {
      task,
      request,
      isolate: isolate.name,
      clock: machine.now(),
      start,
      end,
    };
    this.exchanges.push(exchange);
    this.note(`${isolate.name} gets ${task}`);
    const response = await isolate.serve(
      new Request(`https://api.example.com${path}`, {
        headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': client, ...headers },
        ...(body !== undefined && { method: 'POST', body }),
      }),
    );
    const isGone = hangUpMs !== undefined && this.scheduler.now - start >= hangUpMs;
    if (!isolate.isAlive || isGone) return exchange;
    const text = await this.scheduler.reading(response.text());
    exchange.end = this.scheduler.now;
    exchange.status = response.status;
    exchange.headers = response.headers;
    exchange.body = text === '' ? undefined : JSON.parse(text);
    this.note(`${isolate.name} responds to ${task}: ${response.status} ${text.slice(0, 150)}`);
    return exchange;
  }

  #start(machine: Machine): void {
    this.#isolates += 1;
    const owner = { isAlive: true, name: `isolate ${this.#isolates}` };
    const [app, env] = [machine.service.createApp(), this.#envOf(owner, machine.place)];
    machine.isolate = Object.assign(owner, {
      serve: (request: Request) => app.fetch(request, env, CONTEXT),
    });
  }

  /** Calls a service. Its effect happens even if the caller is gone by then. */
  #call<T>(service: Service, caller: Owner, effect: () => T): Promise<T> {
    const { random, roughness } = taskNow();
    const fate = fateOf(service, random, roughness, this.#options.isSwift ?? false);
    const { scheduler } = this;
    return new Promise((resolve, reject) => {
      scheduler.schedule(fate.before, () => {
        let respond = () => reject(new Error('D1_ERROR: Network connection lost.'));
        if (fate.takesEffect && !this.#isBroken(service)) {
          try {
            const result = effect();
            if (fate.response === 'result') respond = () => resolve(result);
          } catch (error) {
            respond = () => reject(error);
          }
        }
        if (fate.response !== 'none') scheduler.schedule(fate.after, respond, caller);
      });
    });
  }

  #isBroken(service: Service): boolean {
    return this.scheduler.now < (this.#brokenUntil.get(service) ?? 0);
  }

  #objectNamed(name: string): CounterObject {
    const known = this.objects.get(name);
    if (known !== undefined) return known;
    const object = new CounterObject(
      this.#fleet.objects,
      this.#random.fork(`object ${name}`),
      this.#options.counterOffset,
    );
    this.objects.set(name, object);
    return object;
  }

  /** Remembers whose requests a reporter counts: those of the task that runs. */
  #addReporter(id: string): void {
    if (this.reporters.has(id)) return;
    const { name } = taskNow();
    const exchange = this.exchanges.find(({ task }) => task === name);
    if (exchange !== undefined) this.reporters.set(id, exchange);
  }

  #envOf(isolate: Owner & { name: string }, place: string): object {
    const now = () => this.scheduler.now;
    return {
      ...VARS,
      ...this.#options.vars,
      DB: databaseOver((queries) => this.#call('D1', isolate, () => this.database.query(queries))),
      IDEMPOTENCY: {
        get: async (key: string) => {
          const text = await this.#call('KV', isolate, () => this.#kv.get(place, key, now()));
          return text === null ? null : JSON.parse(text);
        },
        put: (key: string, value: string, { expirationTtl }: { expirationTtl: number }) => {
          const isLost = taskNow().random.chance(LOST_WRITES);
          return this.#call('KV', isolate, () => {
            if (!isLost) this.#kv.put(place, key, value, now() + expirationTtl * 1_000);
          });
        },
      },
      RATE_COUNTER: {
        idFromName: (name: string) => name,
        get: (name: string) => ({
          add: (...values: [unknown, { record: string }, ...unknown[]]) => {
            this.#addReporter(values[1].record);
            return this.#call('counter', isolate, () => {
              const reply = this.#objectNamed(name).call('add', values);
              this.note(
                `${isolate.name} reports: ${inspect([...values, reply], { breakLength: 1_000, depth: 5 })}`,
              );
              return reply;
            });
          },
        }),
      },
    };
  }
}

/** Writes a true time as seconds since the start. */
export function timeOf(time: number): string {
  return `+${((time - START) / 1_000).toFixed(3)}`;
}
