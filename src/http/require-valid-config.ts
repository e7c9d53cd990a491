/** Keeps every route closed while a var is malformed. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { NOT_DEVELOPMENT, readConfig } from '../config.ts';
import { ApiError } from './errors.ts';
import { isFromOwnMachine } from './own-machine.ts';

/**
 * Throws 500 `internal_error` while any var is malformed; the log names the var. With `isDeployed`,
 * so is `development` as the environment, but at the machine itself, where `wrangler dev` serves.
 */
export function requireValidConfig({ isDeployed }: { isDeployed: boolean }) {
  return createMiddleware<AppEnv>(async function requireValidConfig(c, next) {
    const { faults, isDevelopment } = readConfig(c.env);
    const isMisplaced = isDeployed && isDevelopment && !isFromOwnMachine(c);
    if (faults.length === 0 && !isMisplaced) return next();
    const all = [...faults, ...(isMisplaced ? [NOT_DEVELOPMENT] : [])];
    throw new ApiError('internal_error', 'The service is misconfigured.', {
      cause: new Error(`malformed configuration: ${all.join('; ')}`),
    });
  });
}
