/**
 * The deployed service, with a delay on each call that crosses the network in production. `GET
 * /calls` returns the number of calls, and resets it.
 */

import service, { RateCounter as Counter } from '../../src/index.ts';
import type { Delays, Hop } from './latency.ts';

type DelayedEnv = Env & { DELAYS: string };

/** The methods that call. Others return an object that has such methods. */
const REMOTE: Readonly<Record<Hop, RegExp>> = {
  counter: /^report$/,
  d1: /^(all|run|first|raw|batch)$/,
  kv: /^(get|put|delete)$/,
  edge: /^(match|put|delete)$/,
};

/** The calls since the last `GET /calls`. */
let calls = { counter: 0, d1: 0, kv: 0, edge: 0 };

function delayed<T extends object>(object: T, hop: Hop, milliseconds: number): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        const call = (): unknown => Reflect.apply(value, target, values);
        if (REMOTE[hop].test(String(name))) {
          calls[hop] += 1;
          return scheduler.wait(milliseconds).then(call);
        }
        const made = call();
        // The runtime takes its own ids only.
        const isMaker = typeof made === 'object' && made !== null && name !== 'idFromName';
        return isMaker ? delayed(made, hop, milliseconds) : made;
      };
    },
  });
}

/** The counter of the service, which starts late. */
export class RateCounter extends Counter {
  constructor(ctx: DurableObjectState, env: DelayedEnv) {
    super(ctx, env);
    const { start }: Delays = JSON.parse(env.DELAYS);
    void ctx.blockConcurrencyWhile(() => scheduler.wait(start));
  }
}

let bindings: Env | undefined;

function withDelays(env: DelayedEnv): Env {
  const { edge, d1, kv, counter }: Delays = JSON.parse(env.DELAYS);
  const value = { default: delayed(caches.default, 'edge', edge) };
  Object.defineProperty(globalThis, 'caches', { value });
  return {
    ...env,
    DB: delayed(env.DB, 'd1', d1),
    IDEMPOTENCY: delayed(env.IDEMPOTENCY, 'kv', kv),
    RATE_COUNTER: delayed(env.RATE_COUNTER, 'counter', counter),
  };
}

export default {
  fetch(request: Request, env: DelayedEnv, ctx: ExecutionContext) {
    if (new URL(request.url).pathname === '/calls') {
      const counted = calls;
      calls = { counter: 0, d1: 0, kv: 0, edge: 0 };
      return Response.json(counted);
    }
    bindings ??= withDelays(env);
    return service.fetch(request, bindings, ctx);
  },
};
