/** `GET /api/health` and `GET /api/health/detailed`: for monitors, without credentials. */

import { Hono } from 'hono';
import { openToAll } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { renderError } from '../http/render-error.ts';
import { VERSION } from '../version.ts';
import { overallStatus } from './dependencies.ts';
import { knownDependencies } from './known-dependencies.ts';
import { databaseDown } from './resource.ts';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Mounted at /api/health. */
export function healthRoutes() {
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(healthOf('ok'), 200, NO_STORE))
    .get('/detailed', openToAll(), async (c) => {
      const dependencies = await knownDependencies(c.env);
      const status = overallStatus(dependencies);
      const health = { ...healthOf(status), dependencies };
      if (status !== 'down') return c.json(health, 200, NO_STORE);
      return renderError(databaseDown(), c, health);
    });
}

function healthOf(status: 'ok' | 'degraded' | 'down') {
  return { object: 'health', status, timestamp: new Date().toISOString(), version: VERSION };
}
