/** Hono hands only instances of Error to its error handler: this guard makes one of everything thrown. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from './app-env.ts';

/** Throws an Error in place of anything else, which becomes its `cause`. */
export function errorGuard() {
  return createMiddleware<AppEnv>(async function errorGuard(_c, next) {
    try {
      await next();
    } catch (thrown) {
      throw thrown instanceof Error
        ? thrown
        : new Error(`a ${typeof thrown} was thrown`, { cause: thrown });
    }
  });
}
