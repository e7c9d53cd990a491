/** `GET /api/health` and `GET /api/health/detailed`: for monitors, without credentials. */

import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { Hono, type TypedResponse } from 'hono';
import { openToAll } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { databaseDown } from '../http/errors.ts';
import { renderError } from '../http/render-error.ts';
import type { Answered, Sent } from '../http/typed-route.ts';
import { VERSION } from '../version.ts';
import { knownDependencies, overallStatus } from './dependencies.ts';
import type { Deployment, DetailedHealth, DownHealth, Health } from './resource.ts';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Mounted at /api/health. `tables` are those that this version needs. */
export function healthRoutes(tables: readonly SQLiteTable[]) {
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(healthOf('ok'), 200, NO_STORE) as Sent<Answered<Health>>)
    .get('/detailed', openToAll(), async (c) => {
      const dependencies = await knownDependencies(c.env, tables);
      const status = overallStatus(dependencies);
      const health = { ...healthOf(status), dependencies, ...deploymentOf(c.env) };
      const response =
        status === 'down' ? renderError(databaseDown(), c, health) : c.json(health, 200, NO_STORE);
      return response as Sent<Answered<DetailedHealth> | TypedResponse<DownHealth, 503, 'json'>>;
    });
}

function healthOf(status: 'ok' | 'degraded' | 'down') {
  return { object: 'health', status, timestamp: new Date().toISOString(), version: VERSION };
}

/** Elsewhere than on Cloudflare and under wrangler there may be no such binding. */
function deploymentOf({ CF_VERSION_METADATA }: Partial<Env>): { deployment?: Deployment } {
  if (CF_VERSION_METADATA === undefined) return {};
  const { id, tag } = CF_VERSION_METADATA;
  return { deployment: { id, tag } };
}
