/** The 405 of a known path. */

import type { Hono } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { ApiError } from './errors.ts';

/** Rejects other methods of each path with 405 `method_not_allowed`. Call it last. */
export function rejectOtherMethods(app: Hono<AppEnv>): void {
  for (const [path, methods] of methodsByPath(app)) {
    app.all(path, (c) => {
      throw new ApiError('method_not_allowed', `${c.req.method} is not allowed at this path.`, {
        headers: { Allow: [...methods].join(', ') },
      });
    });
  }
}

/** Returns path → methods. A path with GET has HEAD too. Middleware has the method ALL. */
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
