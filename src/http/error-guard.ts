/** Whatever is thrown below becomes an Error: Hono hands anything else past its error handler. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from './app-env.ts';

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
