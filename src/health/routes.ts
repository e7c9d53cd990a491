/**
 * `GET /api/health` and `GET /api/health/detailed`: for monitors, without credentials. The result of the checks is cached
 * for 5 s, so that a monitor puts little load on the dependencies.
 */

import { Hono } from 'hono';
import { openToAll } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { renderError } from '../http/render-error.ts';
import {
  CACHED_SECONDS,
  checkHealth,
  databaseDown,
  type HealthOptions,
  healthOf,
} from './check.ts';

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Mounted at /api/health. */
export function healthRoutes(options: HealthOptions) {
  const cached = new WeakMap<
    Env,
    { finishedAt: number; health: Awaited<ReturnType<typeof checkHealth>> }
  >();
  return new Hono<AppEnv>()
    .get('/', openToAll(), (c) => c.json(healthOf('ok'), 200, NO_STORE))
    .get('/detailed', openToAll(), async (c) => {
      const last = cached.get(c.env);
      const isRecent =
        last !== undefined && Math.abs(Date.now() - last.finishedAt) < CACHED_SECONDS * 1_000;
      const health = isRecent ? last.health : await checkHealth(c.env, options);
      if (!isRecent) cached.set(c.env, { finishedAt: Date.now(), health });
      return health.status === 'down'
        ? renderError(databaseDown(), c, health)
        : c.json(health, 200, NO_STORE);
    });
}
