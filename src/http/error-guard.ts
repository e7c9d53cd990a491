/** Hono's error handler is given instances of Error only: here everything that is thrown becomes one. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from './app-env.ts';

/** Throws an Error on in place of anything else, which stands in its `cause`. */
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
