/** 405 for a path that has routes, but none of the request's method. */

import type { Hono } from 'hono';
import type { AppEnv } from './app-env.ts';
import { ApiError } from './errors.ts';

/**
 * Adds a route to each path of the service that answers every other method with 405
 * `method_not_allowed` and `Allow`. The access log shows it under the path's own pattern.
 * Called after all other routes.
 */
export function refuseOtherMethods(app: Hono<AppEnv>): void {
  for (const [path, methods] of methodsByPath(app)) {
    app.all(path, (c) => {
      throw new ApiError('method_not_allowed', `${c.req.method} is not allowed at this path.`, {
        headers: { Allow: [...methods].join(', ') },
      });
    });
  }
}

/** Returns the methods of each path: HEAD wherever GET is one. Middleware has no method of its own. */
function methodsByPath(app: Hono<AppEnv>): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const { method, path } of app.routes) {
    if (method === 'ALL') continue;
    const methods = known.get(path) ?? new Set();
    known.set(path, methods.add(method));
    if (method === 'GET') methods.add('HEAD');
  }
  return known;
}
