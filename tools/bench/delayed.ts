/**
 * The deployed service, with a delay on each call that crosses the network in production. `GET
 * /calls` returns the number of calls, and resets it.
 */

import { env } from 'cloudflare:workers';
import service, { RateCounter as Counter } from '../../src/index.ts';

/**
 * The sources of the delays are in docs/explain/performance.md. The methods make a call; others
 * return an object that has such methods.
 */
const HOPS = {
  counter: { ms: 15, methods: /^count$/ },
  d1: { ms: 30, methods: /^(all|run|first|raw|batch)$/ },
  kv: { ms: 20, methods: /^(get|put|delete)$/ },
  edge: { ms: 7, methods: /^(match|put|delete)$/ },
};
const COUNTER_START_MS = 1_500;

let calls = { counter: 0, d1: 0, kv: 0, edge: 0 };

function delayed<T extends object>(object: T, hop: keyof typeof HOPS): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, target, values);
        if (HOPS[hop].methods.test(String(name))) {
          calls[hop] += 1;
          return scheduler.wait(HOPS[hop].ms).then(call);
        }
        const made = call();
        // The runtime takes its own ids only.
        const isMaker = typeof made === 'object' && made !== null && name !== 'idFromName';
        return isMaker ? delayed(made, hop) : made;
      };
    },
  });
}

/** The service's counter, which starts as late as in production. */
export class RateCounter extends Counter {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    void ctx.blockConcurrencyWhile(() => scheduler.wait(COUNTER_START_MS));
  }
}

const bindings = {
  ...env,
  DB: delayed(env.DB, 'd1'),
  IDEMPOTENCY: delayed(env.IDEMPOTENCY, 'kv'),
  RATE_COUNTER: delayed(env.RATE_COUNTER, 'counter'),
};
Object.defineProperty(globalThis, 'caches', {
  value: { default: delayed(caches.default, 'edge') },
});

export default {
  async fetch(request: Request, _env: Env, ctx: ExecutionContext) {
    if (new URL(request.url).pathname === '/calls') {
      // Reports to an object that starts are sent later.
      await scheduler.wait(COUNTER_START_MS);
      const counted = calls;
      calls = { counter: 0, d1: 0, kv: 0, edge: 0 };
      return Response.json(counted);
    }
    return service.fetch(request, bindings, ctx);
  },
};
