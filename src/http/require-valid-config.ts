/** Keeps every route closed while a var is malformed. */

import { createMiddleware } from 'hono/factory';
import { type AppEnv, readConfig } from '../config.ts';
import { ApiError } from './errors.ts';

/** Throws 500 `internal_error` while any var is malformed. The log names the var. */
export function requireValidConfig() {
  return createMiddleware<AppEnv>(async function requireValidConfig(c, next) {
    const { faults } = readConfig(c.env);
    if (faults.length === 0) return next();
    throw new ApiError('internal_error', 'The service is misconfigured.', {
      cause: new Error(`malformed configuration: ${faults.join('; ')}`),
    });
  });
}
