/** `GET /api/health` and `GET /api/health/detailed`: for monitors, without credentials. */

import { Hono } from 'hono';
import { openToAll } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { renderError } from '../http/render-error.ts';
import { cachedCheck, databaseDown, type HealthOptions, makeHealth } from './check.ts';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Mounted at /api/health. */
export function healthRoutes(options: HealthOptions) {
  const checkHealth = cachedCheck(options);
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(makeHealth('ok'), 200, NO_STORE))
    .get('/detailed', openToAll(), async (c) => {
      const health = await checkHealth(c.env);
      return health.status === 'down'
        ? renderError(databaseDown(), c, health)
        : c.json(health, 200, NO_STORE);
    });
}
