/** Logs one structured line per request. The line holds no credential, key, query or payload. */

import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from './app-env.ts';
import { logInfo } from './log.ts';
import { type Notes, runForRequest } from './request-context.ts';
import { requestIdOf } from './request-id.ts';

/**
 * Logs each request once it is answered; `duration_ms` is the time until then. Everything that runs
 * for the request runs in its context.
 */
export function accessLog() {
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    const requestId = requestIdOf(c);
    const notes: Notes = {};
    await runForRequest(requestId, notes, next);
    logInfo('request', {
      request_id: requestId,
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      duration_ms: Date.now() - startedAt,
      ...notes,
    });
  });
}
