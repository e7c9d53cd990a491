/** The cost of requests: calls of each binding, and rows read and written as D1 counts them. */

import { type Tap, tapD1, tapKv, tapObjects } from './tap.ts';

export const NOTHING = {
  d1RoundTrips: 0,
  d1RowsRead: 0,
  d1RowsWritten: 0,
  kvReads: 0,
  kvWrites: 0,
  counterCalls: 0,
};

export type Costs = typeof NOTHING;

/** Returns the bindings of `env`, with their calls counted into `costs`. */
export function counting(env: Env, costs = { ...NOTHING }): { env: Env; costs: Costs } {
  const countAs = (name: keyof Costs): Tap<unknown> => {
    return (call) => {
      costs[name] += 1;
      return call();
    };
  };
  const counted: Env = {
    ...env,
    DB: tapD1(env.DB, async (call) => {
      costs.d1RoundTrips += 1;
      const results = await call();
      for (const { meta } of results) {
        costs.d1RowsRead += meta.rows_read;
        costs.d1RowsWritten += meta.rows_written;
      }
      return results;
    }),
    IDEMPOTENCY: tapKv(env.IDEMPOTENCY, { get: countAs('kvReads'), put: countAs('kvWrites') }),
    RATE_COUNTER: tapObjects(env.RATE_COUNTER, countAs('counterCalls')),
  };
  return { env: counted, costs };
}
