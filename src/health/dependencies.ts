/** Checks the service's dependencies: side by side, each for a bounded time, none by a write. */

import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { countersOf } from '../config.ts';
import { logFault } from '../http/log.ts';
import { readD1 } from '../storage/d1.ts';
import { withDeadline } from '../storage/deadline.ts';
import type { Dependencies, Dependency } from './resource.ts';

const CHECK_DEADLINE_MS = 2_000;

/** Looks at every dependency, for 2 s at most. Never rejects; faults are logged under the request's id. */
export async function checkDependencies(
  env: Env,
  tables: readonly SQLiteTable[],
): Promise<Dependencies> {
  const query = schemaQuery(tables);
  const [database, idempotency_cache, rate_limiter] = await Promise.all([
    checkOne('database', () => readD1(() => env.DB.prepare(query).first())),
    checkOne('idempotency_cache', () => env.IDEMPOTENCY.get('health')),
    checkOne('rate_limiter', async () => {
      // A limit of 0 grants nothing, so that nothing is stored.
      const counters = countersOf(env);
      const stub = counters.get(counters.idFromName('health'));
      const lease = await stub.grant('default', 0, 1);
      // What an object returns keeps its call open until it is disposed of.
      lease[Symbol.dispose]();
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

/**
 * Names every column of every table and reads no row: D1 refuses it when one is missing, as it is after
 * a deployment without its migrations.
 */
function schemaQuery(tables: readonly SQLiteTable[]): string {
  const known = tables.map((table) => {
    const columns = Object.values(getTableColumns(table)).map(
      ({ name }) => `"${getTableName(table)}"."${name}"`,
    );
    return `EXISTS (SELECT ${columns.join(', ')} FROM "${getTableName(table)}" WHERE 0)`;
  });
  return `SELECT ${['1', ...known].join(' + ')}`;
}
