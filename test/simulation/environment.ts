/** A simulated deployment: isolates that run the real service, and the dependencies that they call. */

import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { createD1Database } from '../../tools/database/d1.ts';
import { Database } from '../support/cloudflare/database.ts';
import { TEST_VARS } from '../support/vars.ts';
import type { Source } from './bundle.ts';
import { drawBehaviour, type Service } from './calls.ts';
import { getTask, Isolate, tasks } from './isolate.ts';
import { Kv } from './kv.ts';
import { CounterObject } from './objects.ts';
import { Random } from './random.ts';
import { type Owner, Scheduler, START } from './scheduler.ts';

const API_KEY = 'the-simulated-key';
/** The vars of every run. A run can replace them. */
const VARS = {
  ...TEST_VARS,
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
  API_KEY,
};

/** Share of the writes that KV acknowledges and loses. */
const LOST_WRITES = 0.05;

const CONTEXT = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

/** The isolates that all runs share, because loading the source takes time. */
export class IsolatePool {
  /** The isolate of all Durable Objects. */
  readonly objects: Isolate;
  readonly #source: Source;
  readonly #isolates: Isolate[] = [];

  constructor(source: Source) {
    this.#source = source;
    this.objects = new Isolate(source);
  }

  isolate(index: number): Isolate {
    this.#isolates[index] ??= new Isolate(this.#source);
    return this.#isolates[index];
  }
}

/** A request. It is a POST if it has a body, otherwise a GET. */
type SimulatedRequest = {
  path: string;
  client?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds until the client hangs up; undefined if it waits. */
  hangUpMs?: number | undefined;
};

/** A request and its response. Without a response, `status` is undefined. */
export type Exchange = {
  task: string;
  request: SimulatedRequest;
  /** Name of the instance that got the request. */
  instance: string;
  /** Start by the clock of that isolate, in milliseconds since the epoch. */
  clock: number;
  /** True time of the start. */
  start: number;
  /** True time of the response; infinite without a response. */
  end: number;
  status?: number;
  headers?: Headers;
  body?: unknown;
};

export type EnvironmentOptions = {
  seed: string;
  vars?: Record<string, string>;
  /** The isolates. `clockOffset` is the milliseconds by which a clock is ahead of the true time. */
  isolates: readonly { clockOffset: number; place: string }[];
  /** Milliseconds by which the clock of the counters is ahead of the true time. */
  counterOffset?: number;
  /** Whether to record what happens, which takes time. */
  hasHistory?: boolean;
  /** Whether calls without a fault take less than 0.1 s. Otherwise they take less than a second. */
  isSwift?: boolean;
};

export class Environment {
  readonly scheduler = new Scheduler();
  /** D1, on a real SQLite. A batch is a transaction. */
  readonly database = new Database('simulated').migrate();
  readonly exchanges: Exchange[] = [];
  /** A line for each event of the run, if `hasHistory` is set. A failed test shows them. */
  readonly history: string[] = [];
  readonly objects = new Map<string, CounterObject>();
  /** Reporter id → one of the requests that it counts. */
  readonly reporters = new Map<string, Exchange>();
  readonly #pool: IsolatePool;
  readonly #options: EnvironmentOptions;
  readonly #random: Random;
  readonly #kv = new Kv();
  readonly #outageUntil = new Map<Service, number>();
  #instanceCount = 0;

  constructor(pool: IsolatePool, options: EnvironmentOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#random = new Random(options.seed);
    const { scheduler } = this;
    this.database.sqlite.exec("update database_identity set generation = 'simulated'");
    pool.objects.scheduler = scheduler;
    for (const [index, settings] of options.isolates.entries()) {
      this.#start(Object.assign(pool.isolate(index), { ...settings, scheduler }));
    }
  }

  /** Adds a line to the history. */
  log(describe: () => string): void {
    if (this.#options.hasHistory) {
      this.history.push(`${formatTime(this.scheduler.now)} ${describe()}`);
    }
  }

  /** Runs a task. Its random numbers depend only on the seed and on the name of the task. */
  run<T>(name: string, faultRate: number, work: () => T): T {
    return tasks.run({ name, random: this.#random.fork(name), faultRate }, work);
  }

  /** Kills the running instance of an isolate, and starts another. */
  kill(index: number): void {
    const isolate = this.#pool.isolate(index);
    this.log(() => `${isolate.instance.name} is killed`);
    isolate.instance.isAlive = false;
    this.#start(isolate);
  }

  /** Sets the clocks of all isolates back. */
  setClocksBack(milliseconds: number): void {
    this.log(() => `all clocks are set back by ${milliseconds} ms`);
    this.scheduler.clockError -= milliseconds;
  }

  /** Evicts the counter of an address, or of `key NAME`. */
  evict(client: string): void {
    this.log(() => `the counter of ${client} is evicted`);
    const addressHash = createHmac('sha256', API_KEY).update(client).digest('hex');
    this.objects.get(client.startsWith('key ') ? client : addressHash)?.evict();
  }

  /** Makes all calls of a service fail for a time. */
  startOutage(service: Service, milliseconds: number): void {
    this.log(() => `${service}: down for ${milliseconds} ms`);
    this.#outageUntil.set(service, this.scheduler.now + milliseconds);
  }

  /** Sends a request to an isolate. A client that hangs up gets no response. */
  async send(index: number, request: SimulatedRequest): Promise<Exchange> {
    const isolate = this.#pool.isolate(index);
    const { instance } = isolate;
    const { path, client = '203.0.113.1', headers, body, hangUpMs } = request;
    const [start, task] = [this.scheduler.now, getTask().name];
    const end = Number.POSITIVE_INFINITY;
    const exchange: Exchange = {
      task,
      request,
      instance: instance.name,
      clock: isolate.now(),
      start,
      end,
    };
    this.exchanges.push(exchange);
    this.log(() => `${instance.name} gets ${task}`);
    const response = await instance.serve(
      new Request(`https://api.example.com${path}`, {
        headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': client, ...headers },
        ...(body !== undefined && { method: 'POST', body }),
      }),
    );
    const isGone = hangUpMs !== undefined && this.scheduler.now - start >= hangUpMs;
    if (!instance.isAlive || isGone) return exchange;
    const text = await this.scheduler.read(response.text());
    exchange.end = this.scheduler.now;
    exchange.status = response.status;
    exchange.headers = response.headers;
    exchange.body = text === '' ? undefined : JSON.parse(text);
    this.log(
      () => `${instance.name} responds to ${task}: ${response.status} ${text.slice(0, 150)}`,
    );
    return exchange;
  }

  #start(isolate: Isolate): void {
    this.#instanceCount += 1;
    const owner = { isAlive: true, name: `isolate ${this.#instanceCount}` };
    const [app, env] = [isolate.service.createApp(), this.#createEnv(owner, isolate.place)];
    isolate.instance = Object.assign(owner, {
      serve: (request: Request) => app.fetch(request, env, CONTEXT),
    });
  }

  /** Calls a service. The call takes effect even if its caller has been killed by then. */
  #call<T>(service: Service, caller: Owner, effect: () => T): Promise<T> {
    const { random, faultRate } = getTask();
    const behaviour = drawBehaviour(service, random, faultRate, this.#options.isSwift ?? false);
    const { scheduler } = this;
    return new Promise((resolve, reject) => {
      scheduler.schedule(behaviour.before, () => {
        let respond = () => reject(new Error('D1_ERROR: Network connection lost.'));
        if (behaviour.takesEffect && !this.#isDown(service)) {
          try {
            const result = effect();
            if (behaviour.response === 'result') respond = () => resolve(result);
          } catch (error) {
            respond = () => reject(error);
          }
        }
        if (behaviour.response !== 'none') scheduler.schedule(behaviour.after, respond, caller);
      });
    });
  }

  #isDown(service: Service): boolean {
    return this.scheduler.now < (this.#outageUntil.get(service) ?? 0);
  }

  #getObject(name: string): CounterObject {
    const existing = this.objects.get(name);
    if (existing !== undefined) return existing;
    const object = new CounterObject(
      this.#pool.objects,
      this.#random.fork(`object ${name}`),
      this.#options.counterOffset,
    );
    this.objects.set(name, object);
    return object;
  }

  /** Records that a reporter counts the request of the current task. */
  #addReporter(id: string): void {
    if (this.reporters.has(id)) return;
    const { name } = getTask();
    const exchange = this.exchanges.find(({ task }) => task === name);
    if (exchange !== undefined) this.reporters.set(id, exchange);
  }

  #createEnv(instance: Owner & { name: string }, place: string): object {
    const now = () => this.scheduler.now;
    return {
      ...VARS,
      ...this.#options.vars,
      DB: createD1Database((queries) =>
        this.#call('D1', instance, () => this.database.query(queries)),
      ),
      IDEMPOTENCY: {
        get: async (key: string) => {
          const text = await this.#call('KV', instance, () => this.#kv.get(place, key, now()));
          return text === null ? null : JSON.parse(text);
        },
        put: (key: string, value: string, { expirationTtl }: { expirationTtl: number }) => {
          const isLost = getTask().random.chance(LOST_WRITES);
          return this.#call('KV', instance, () => {
            if (!isLost) this.#kv.put(place, key, value, now() + expirationTtl * 1_000);
          });
        },
      },
      RATE_COUNTER: {
        idFromName: (name: string) => name,
        get: (name: string) => ({
          add: (...values: [unknown, { record: string }, ...unknown[]]) => {
            this.#addReporter(values[1].record);
            return this.#call('counter', instance, () => {
              const reply = this.#getObject(name).call('add', values);
              this.log(
                () =>
                  `${instance.name} reports: ${inspect([...values, reply], { breakLength: 1_000, depth: 5 })}`,
              );
              return reply;
            });
          },
        }),
      },
    };
  }
}

/** Formats a true time as seconds since the start. */
export function formatTime(time: number): string {
  return `+${((time - START) / 1_000).toFixed(3)}`;
}
