/** Logs one structured line per request. The line holds no credential, key, query or payload. */

import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from './app-env.ts';
import { logInfo } from './log.ts';
import { requestIdOf } from './request-id.ts';

/** Logs each request once it is answered; `duration_ms` is the time until then. */
export function accessLog() {
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    await next();
    logInfo('request', {
      request_id: requestIdOf(c),
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      duration_ms: Date.now() - startedAt,
    });
  });
}
