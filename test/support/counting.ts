/** Counts what requests cost: calls to each binding, and the rows that D1 reads and writes. */

import { interceptD1, interceptMethods, interceptObjects } from './interceptor.ts';

export const NOTHING = {
  d1RoundTrips: 0,
  d1RowsRead: 0,
  d1RowsWritten: 0,
  kvReads: 0,
  kvWrites: 0,
  counterCalls: 0,
};

export type Costs = typeof NOTHING;

/** Returns the bindings of `env`. Each call to them is added to `costs`. */
export function countCosts(env: Env, costs = { ...NOTHING }): { env: Env; costs: Costs } {
  const counted: Env = {
    ...env,
    DB: interceptD1(env.DB, async (call) => {
      costs.d1RoundTrips += 1;
      const results = await call();
      for (const { meta } of results) {
        costs.d1RowsRead += meta.rows_read;
        costs.d1RowsWritten += meta.rows_written;
      }
      return results;
    }),
    IDEMPOTENCY: interceptMethods(env.IDEMPOTENCY, (call, method) => {
      costs[method === 'get' ? 'kvReads' : 'kvWrites'] += 1;
      return call();
    }),
    RATE_COUNTER: interceptObjects(env.RATE_COUNTER, (call) => {
      costs.counterCalls += 1;
      return call();
    }),
  };
  return { env: counted, costs };
}
