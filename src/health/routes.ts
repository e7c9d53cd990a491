/**
 * `GET /api/health` and `GET /api/health/detailed`: for monitors, without credentials.
 *
 * The dependencies are checked side by side, each for a bounded time, none by a write. The result is cached for 5 s, so
 * that a monitor puts little load on them.
 */

import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Hono } from 'hono';
import type * as z from 'zod';
import { openToAll } from '../auth/require.ts';
import { type AppEnv, countersOf } from '../config.ts';
import { databaseDown } from '../http/errors.ts';
import { logFault } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { readD1 } from '../storage/d1.ts';
import { withDeadline } from '../storage/deadline.ts';
import { VERSION } from '../version.ts';
import type { detailedHealth } from './openapi/resource.ts';

type DetailedHealth = z.infer<typeof detailedHealth>;
type Dependencies = DetailedHealth['dependencies'];
type Dependency = Dependencies[keyof Dependencies];
type Deployment = NonNullable<DetailedHealth['deployment']>;

const CHECK_DEADLINE_MS = 2_000;

/** Checks every dependency, for 2 s at most. Never rejects; faults are logged under the request's id. */
async function checkDependencies(env: Env, tables: readonly SQLiteTable[]): Promise<Dependencies> {
  const query = schemaQuery(tables);
  const [database, idempotency_cache, rate_limiter] = await Promise.all([
    checkOne('database', () => readD1(() => env.DB.prepare(query).first())),
    checkOne('idempotency_cache', () => env.IDEMPOTENCY.get('health')),
    checkOne('rate_limiter', async () => {
      // A report without a count changes nothing, so the object stores nothing.
      const counters = countersOf(env);
      const stub = counters.get(counters.idFromName('health'));
      const report = { record: 'health', formerRecord: undefined, passed: 0, ageMs: 0 };
      // The result of a remote call keeps the call open until it is disposed of.
      using _reply = await stub.report('default', 1, { ...report, wantsPlace: false });
    }),
  ]);
  return { database, idempotency_cache, rate_limiter };
}

/** A `degraded` service works without its idempotency cache or its rate limiter. */
function overallStatus(dependencies: Dependencies): 'ok' | 'degraded' | 'down' {
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
 * Writes a query that names every column of every table and reads no row. D1 refuses it when a column is missing, as
 * after a deployment without its migrations.
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

const REUSED_MS = 5_000;

type CheckedHealth = ReturnType<typeof healthOf> &
  Pick<DetailedHealth, 'dependencies' | 'deployment'>;

const lastChecks = new WeakMap<Env, { finishedAt: number; health: CheckedHealth }>();

/** Returns the health of the last check, or checks again 5 s after it. Requests never share a check under way. */
async function recentHealth(env: Env, tables: readonly SQLiteTable[]): Promise<CheckedHealth> {
  const last = lastChecks.get(env);
  if (last !== undefined && Math.abs(Date.now() - last.finishedAt) < REUSED_MS) return last.health;
  const dependencies = await checkDependencies(env, tables);
  const status = overallStatus(dependencies);
  const health = { ...healthOf(status), dependencies, ...deploymentOf(env) };
  lastChecks.set(env, { finishedAt: Date.now(), health });
  return health;
}

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Mounted at /api/health. `tables` are the tables that this version needs. */
export function healthRoutes(tables: readonly SQLiteTable[]) {
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(healthOf('ok'), 200, NO_STORE))
    .get('/detailed', openToAll(), async (c) => {
      const health = await recentHealth(c.env, tables);
      return health.status === 'down'
        ? renderError(databaseDown(), c, health)
        : c.json(health, 200, NO_STORE);
    });
}

function healthOf(status: 'ok' | 'degraded' | 'down') {
  return { object: 'health', status, timestamp: new Date().toISOString(), version: VERSION };
}

/** The binding may be missing outside of Cloudflare and wrangler. */
function deploymentOf({ CF_VERSION_METADATA }: Partial<Env>): { deployment?: Deployment } {
  if (CF_VERSION_METADATA === undefined) return {};
  const { id, tag } = CF_VERSION_METADATA;
  return { deployment: { id, tag } };
}
