/** Checks the service's dependencies: side by side, each for a bounded time, none by a write. */

import { logFault } from '../http/log.ts';
import { readD1 } from '../storage/d1.ts';
import { withDeadline } from '../storage/deadline.ts';
import type { Dependencies, Dependency } from './resource.ts';

const CHECK_DEADLINE_MS = 2_000;

/** Looks at every dependency, for 2 s at most. Never rejects; faults are logged under the request's id. */
export async function checkDependencies(env: Env): Promise<Dependencies> {
  const [database, idempotency_cache, rate_limiter] = await Promise.all([
    checkOne('database', () => readD1(() => env.DB.prepare('SELECT 1').first())),
    checkOne('idempotency_cache', () => env.IDEMPOTENCY.get('health')),
    checkOne('rate_limiter', () => {
      // A limit of 0 grants nothing, so that nothing is stored.
      const id = env.RATE_COUNTER.idFromName('health');
      return env.RATE_COUNTER.get(id).lease('default', 0, 1);
    }),
  ]);
  return { database, idempotency_cache, rate_limiter };
}

/** Sums the dependencies up: a `degraded` service works, without the fast path or the limit. */
export function overallStatus(dependencies: Dependencies): 'ok' | 'degraded' | 'down' {
  if (dependencies.database.status === 'down') return 'down';
  return Object.values(dependencies).every(({ status }) => status === 'ok') ? 'ok' : 'degraded';
}

async function checkOne(
  name: keyof Dependencies,
  call: () => Promise<unknown>,
): Promise<Dependency> {
  const startedAt = Date.now();
  let status: Dependency['status'] = 'ok';
  try {
    await withDeadline(call(), CHECK_DEADLINE_MS, name);
  } catch (error) {
    status = 'down';
    logFault(`health: ${name} is down`, error);
  }
  return { status, latency_ms: Date.now() - startedAt };
}
