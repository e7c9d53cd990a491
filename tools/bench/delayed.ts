/**
 * The deployed service, with a delay on each call that crosses the network in production. `GET
 * /calls` returns the number of calls, and resets it.
 */

import service, { RateCounter as Counter } from '../../src/index.ts';

/** The milliseconds of each hop: docs/explain/performance.md has the sources. */
const HOPS = { counter: 15, d1: 30, kv: 20, edge: 7 };
const COUNTER_START_MS = 1_500;

type Hop = keyof typeof HOPS;

/** The methods that call. Others return an object that has such methods. */
const REMOTE: Readonly<Record<Hop, RegExp>> = {
  counter: /^report$/,
  d1: /^(all|run|first|raw|batch)$/,
  kv: /^(get|put|delete)$/,
  edge: /^(match|put|delete)$/,
};

/** The calls since the last `GET /calls`. */
let calls = { counter: 0, d1: 0, kv: 0, edge: 0 };

function delayed<T extends object>(object: T, hop: Hop): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, target, values);
        if (REMOTE[hop].test(String(name))) {
          calls[hop] += 1;
          return scheduler.wait(HOPS[hop]).then(call);
        }
        const made = call();
        // The runtime takes its own ids only.
        const isMaker = typeof made === 'object' && made !== null && name !== 'idFromName';
        return isMaker ? delayed(made, hop) : made;
      };
    },
  });
}

/** The counter of the service, which starts late. */
export class RateCounter extends Counter {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => scheduler.wait(COUNTER_START_MS));
  }
}

let bindings: Env | undefined;

function withDelays(env: Env): Env {
  const value = { default: delayed(caches.default, 'edge') };
  Object.defineProperty(globalThis, 'caches', { value });
  return {
    ...env,
    DB: delayed(env.DB, 'd1'),
    IDEMPOTENCY: delayed(env.IDEMPOTENCY, 'kv'),
    RATE_COUNTER: delayed(env.RATE_COUNTER, 'counter'),
  };
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext) {
    if (new URL(request.url).pathname === '/calls') {
      // Reports to an object that starts are sent later.
      await scheduler.wait(COUNTER_START_MS);
      const counted = calls;
      calls = { counter: 0, d1: 0, kv: 0, edge: 0 };
      return Response.json(counted);
    }
    bindings ??= withDelays(env);
    return service.fetch(request, bindings, ctx);
  },
};
