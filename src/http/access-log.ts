/** One structured line a request: who may read the log may not learn a credential, key or payload. */

import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from './app-env.ts';
import { logInfo } from './log.ts';
import { requestIdOf } from './request-id.ts';

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
