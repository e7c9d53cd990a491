/**
 * The deployed service, with a delay on each call of the counter, D1, KV and the edge cache, and on the start of each
 * counter object: in production these calls cross the network. It counts the calls, and the rows that the counters
 * write. `GET /calls` returns the counts and resets them.
 */

import service, { RateCounter as Counter } from '../../src/index.ts';

const HOPS = ['counter', 'd1', 'kv', 'edge'] as const;
export type Hop = (typeof HOPS)[number];

/** The calls since the last `GET /calls`, and the rows that counters wrote: a value or an alarm. */
export type Calls = Record<Hop | 'counterRows', number>;

/** The vars with the delay of each call, and of an object's start, in milliseconds. */
type DelayedEnv = Env & Record<`DELAY_${Uppercase<Hop> | 'START'}`, string>;

const calls: Calls = { counter: 0, d1: 0, kv: 0, edge: 0, counterRows: 0 };

/** Methods that call the store. Other methods return an object that has such methods. */
const REMOTE = /^(report|all|run|first|raw|batch|exec|get|put|delete|list|match)$/;
const originals = new WeakMap<object, object>();

/** Returns the object with its remote calls delayed. */
function delayed<T extends object>(object: T, hop: Hop, milliseconds: number): T {
  const proxy = new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const values = given.map(unwrapped);
        const call = () => Reflect.apply(value, target, values);
        // `get` of the counters' namespace makes a stub.
        const isRemote = REMOTE.test(String(name)) && !(hop === 'counter' && name === 'get');
        if (isRemote) return wait(hop, milliseconds, call);
        const made: unknown = call();
        const isMaker = typeof made === 'object' && made !== null && name !== 'idFromName';
        return isMaker ? delayed(made, hop, milliseconds) : made;
      };
    },
  });
  originals.set(proxy, object);
  return proxy;
}

/** Returns the originals of proxies: a batch gets statements that a proxy has made. */
function unwrapped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unwrapped);
  return typeof value === 'object' && value !== null ? (originals.get(value) ?? value) : value;
}

async function wait(hop: Hop, milliseconds: number, call: () => unknown): Promise<unknown> {
  calls[hop] += 1;
  if (milliseconds === 0) return call();
  await scheduler.wait(milliseconds);
  return call();
}

/** The counter of the service, which starts late and counts the rows that it writes. */
export class RateCounter extends Counter {
  constructor(ctx: DurableObjectState, env: DelayedEnv) {
    const { storage } = ctx;
    for (const [object, name] of [
      [storage.kv, 'put'],
      [storage, 'setAlarm'],
    ] as const) {
      const write: unknown = Reflect.get(object, name);
      if (typeof write !== 'function') throw new Error(`the storage has no ${name}`);
      Object.defineProperty(object, name, {
        value: (...values: unknown[]) => {
          calls.counterRows += 1;
          return Reflect.apply(write, object, values);
        },
      });
    }
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => scheduler.wait(Number(env.DELAY_START)));
  }
}

let bindings: Env | undefined;

function withDelays(env: DelayedEnv): Env {
  const of = (hop: Uppercase<Hop>) => Number(env[`DELAY_${hop}`]);
  const edge = delayed(caches.default, 'edge', of('EDGE'));
  Object.defineProperty(globalThis, 'caches', { value: { default: edge } });
  return {
    ...env,
    DB: delayed(env.DB, 'd1', of('D1')),
    IDEMPOTENCY: delayed(env.IDEMPOTENCY, 'kv', of('KV')),
    RATE_COUNTER: delayed(env.RATE_COUNTER, 'counter', of('COUNTER')),
  };
}

export default {
  fetch(request: Request, env: DelayedEnv, ctx: ExecutionContext) {
    if (new URL(request.url).pathname === '/calls') {
      const counted = { ...calls };
      for (const name of Object.keys(calls)) Reflect.set(calls, name, 0);
      return Response.json(counted);
    }
    bindings ??= withDelays(env);
    return service.fetch(request, bindings, ctx);
  },
};
