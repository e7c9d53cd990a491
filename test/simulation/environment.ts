/**
 * A simulated deployment: isolates that run the real service, and simulated versions of the
 * dependencies that the service calls.
 */

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
/** The default vars of a run. */
const VARS = {
  ...TEST_VARS,
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
  API_KEY,
};

/** Share of writes that KV acknowledges but loses. */
const LOST_WRITES = 0.05;

const CONTEXT = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };

/** A pool of isolates that all runs share, because loading the source takes time. */
export class IsolatePool {
  /** The isolate in which all Durable Objects run. */
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

/** A simulated request. It is a POST if it has a body, and otherwise a GET. */
type SimulatedRequest = {
  path: string;
  client?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds until the client hangs up; undefined if the client waits for the response. */
  hangUpMs?: number | undefined;
};

/** A request and its response. If there was no response, `status` is undefined. */
export type Exchange = {
  task: string;
  request: SimulatedRequest;
  /** Name of the instance that received the request. */
  instance: string;
  /** Time of the request by the isolate's clock, in milliseconds since the epoch. */
  clock: number;
  start: number;
  /** True time of the response; infinite if there was no response. */
  end: number;
  status?: number;
  headers?: Headers;
  body?: unknown;
};

export type EnvironmentOptions = {
  seed: string;
  vars?: Record<string, string>;
  /**
   * One entry per isolate. `clockOffset` is the number of milliseconds by which its clock is ahead
   * of the true time.
   */
  isolates: readonly { clockOffset: number; place: string }[];
  /** Milliseconds by which the counters' clock is ahead of the true time. */
  counterOffset?: number;
  /** Whether to record the history, which takes time. */
  hasHistory?: boolean;
  /**
   * Whether a call without a fault takes less than 0.1 s. Otherwise it takes less than a second.
   */
  isSwift?: boolean;
};

export class Environment {
  readonly scheduler = new Scheduler();
  /** The D1 database, backed by a real SQLite database. A batch is a transaction. */
  readonly database = new Database('simulated').migrate();
  readonly exchanges: Exchange[] = [];
  /**
   * One line per event of the run, for the message of a failed test. Empty unless `hasHistory` is
   * set.
   */
  readonly history: string[] = [];
  readonly objects = new Map<string, CounterObject>();
  /** Maps a reporter id to one of the requests that the reporter counted. */
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

  log(describe: () => string): void {
    if (this.#options.hasHistory) {
      this.history.push(`${formatTime(this.scheduler.now)} ${describe()}`);
    }
  }

  /** Runs a task. The task's random numbers depend only on its name and on the seed. */
  run<T>(name: string, faultRate: number, work: () => T): T {
    return tasks.run({ name, random: this.#random.fork(name), faultRate }, work);
  }

  /** Kills the running instance of an isolate and starts a new one. */
  kill(index: number): void {
    const isolate = this.#pool.isolate(index);
    this.log(() => `${isolate.instance.name} is killed`);
    isolate.instance.isAlive = false;
    this.#start(isolate);
  }

  setClocksBack(milliseconds: number): void {
    this.log(() => `all clocks are set back by ${milliseconds} ms`);
    this.scheduler.clockError -= milliseconds;
  }

  /** Evicts the counter of a client: an address, or `key` and the name of an API key. */
  evict(client: string): void {
    this.log(() => `the counter of ${client} is evicted`);
    const addressHash = createHmac('sha256', API_KEY).update(client).digest('hex');
    this.objects.get(client.startsWith('key ') ? client : addressHash)?.evict();
  }

  /** Makes all calls to a service fail for the given time. */
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

  /** Calls a service. The call takes effect even if its caller has been killed in the meantime. */
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

  /** Records that the reporter counted the current task's request. */
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

/** Formats a time as seconds since the start of the run. */
export function formatTime(time: number): string {
  return `+${((time - START) / 1_000).toFixed(3)}`;
}
