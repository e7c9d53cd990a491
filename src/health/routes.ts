/**
 * The health checks, which need no credentials. `GET /api/health` shows only that the service responds.
 * `GET /api/health/detailed` checks the dependencies in parallel, for at most 2 s each and without
 * writing.
 */

import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Hono } from 'hono';
import type * as z from 'zod';
import type { AppEnv } from '../app-env.ts';
import { openToAll } from '../auth/require.ts';
import { withDeadline } from '../deadline.ts';
import { ApiError } from '../http/errors.ts';
import { logError } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { RELEASE } from '../release.ts';
import { readD1 } from '../storage/d1.ts';
import type { detailedHealth } from './openapi/health.ts';

const NO_STORE = { 'Cache-Control': 'no-store' };
const CHECK_DEADLINE_MS = 2_000;
const CACHED_SECONDS = 5;

type HealthOptions = {
  /** The tables that this release needs. */
  tables: readonly SQLiteTable[];
  /** Queries a rate counter without changing it. */
  callCounter: (env: Env) => Promise<void>;
};

/** Creates the routes under /api/health. */
export function healthRoutes(options: HealthOptions) {
  const getHealth = createCachedCheck(options);
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(makeHealth('ok'), 200, NO_STORE))
    .get('/detailed', openToAll(), async (c) => {
      const health = await getHealth(c.env);
      return health.status === 'down'
        ? renderError(createDatabaseDown(), c, health)
        : c.json(health, 200, NO_STORE);
    });
}

/** Builds the 503 `service_unavailable`. Clients can retry when the cached result has expired. */
function createDatabaseDown(): ApiError {
  const headers = { 'Retry-After': String(CACHED_SECONDS) };
  return new ApiError('service_unavailable', 'The database is down.', { headers });
}

/** Creates a check whose result is cached for 5 s. */
function createCachedCheck(options: HealthOptions) {
  type Health = Awaited<ReturnType<typeof checkHealth>>;
  let last: { finishedAt: number; health: Health } | undefined;
  return async (env: Env): Promise<Health> => {
    if (last && Math.abs(Date.now() - last.finishedAt) < CACHED_SECONDS * 1_000) return last.health;
    const health = await checkHealth(env, options);
    last = { finishedAt: Date.now(), health };
    return health;
  };
}

type Dependencies = z.infer<typeof detailedHealth>['dependencies'];
type Dependency = Dependencies[keyof Dependencies];

/** Checks all dependencies. Never rejects. `degraded` means that the database is up and another dependency is down. */
async function checkHealth(env: Env, { tables, callCounter }: HealthOptions) {
  const query = writeSchemaQuery(tables);
  const [database, idempotency_cache, rate_limiter] = await Promise.all([
    check('database', () => readD1(() => env.DB.prepare(query).first())),
    check('idempotency_cache', () => env.IDEMPOTENCY.get('health')),
    check('rate_limiter', () => callCounter(env)),
  ]);
  const dependencies: Dependencies = { database, idempotency_cache, rate_limiter };
  const isDegraded = [idempotency_cache, rate_limiter].some(({ status }) => status === 'down');
  const status = database.status === 'down' ? 'down' : isDegraded ? 'degraded' : 'ok';
  // The binding is missing outside Cloudflare and wrangler.
  const { CF_VERSION_METADATA: metadata }: Partial<Env> = env;
  const deployment = metadata && { id: metadata.id, tag: metadata.tag };
  return { ...makeHealth(status), dependencies, ...(deployment && { deployment }) };
}

function makeHealth(status: 'ok' | 'degraded' | 'down') {
  return { object: 'health', status, timestamp: new Date().toISOString(), version: RELEASE };
}

async function check(name: keyof Dependencies, call: () => Promise<unknown>): Promise<Dependency> {
  const startedAt = Date.now();
  let status: Dependency['status'] = 'ok';
  try {
    await withDeadline(call(), CHECK_DEADLINE_MS, name);
  } catch (error) {
    status = 'down';
    logError(`health: ${name} is down`, error);
  }
  return { status, latency_ms: Date.now() - startedAt };
}

/** Writes a query that names every column and reads no row. D1 rejects it if a migration is missing. */
function writeSchemaQuery(tables: readonly SQLiteTable[]): string {
  const checks = tables.map((table) => {
    const name = getTableName(table);
    const columns = Object.values(getTableColumns(table)).map(
      (column) => `"${name}"."${column.name}"`,
    );
    return `EXISTS (SELECT ${columns.join(', ')} FROM "${name}" WHERE 0)`;
  });
  return `SELECT ${['1', ...checks].join(' + ')}`;
}
