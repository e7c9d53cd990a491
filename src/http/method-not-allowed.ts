/** The 405 of a known path. */

import type { Hono } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { ApiError } from './errors.ts';

/** Rejects other methods of each path with 405 `method_not_allowed`. Call it last. */
export function rejectOtherMethods(app: Hono<AppEnv>): void {
  // Middleware has the method ALL. A route has an entry for each of its handlers.
  const routes = app.routes.filter(({ method }) => method !== 'ALL');
  for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
    const methods = ofPath.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method));
    const Allow = [...new Set(methods)].join(', ');
    app.all(path, (c) => {
      const message = `${c.req.method} is not allowed at this path.`;
      throw new ApiError('method_not_allowed', message, { headers: { Allow } });
    });
  }
}
