/** What a request passes before any route: https, and vars that are well-formed. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { NOT_DEVELOPMENT, readConfig } from '../config.ts';
import { ApiError } from './errors.ts';
import { isFromLocalhost } from './localhost.ts';

/**
 * Rejects plain http with 403 `https_required`, except in development and at the machine itself.
 *
 * While any var is malformed, every route is a 500 `internal_error`, and the log names the var. With
 * `isDeployed`, the environment `development` counts as malformed, except at the machine itself,
 * where `wrangler dev` serves.
 */
export function requireHttpsAndConfig({ isDeployed }: { isDeployed: boolean }) {
  return createMiddleware<AppEnv>(async function requireHttpsAndConfig(c, next) {
    const config = readConfig(c.env);
    if (c.req.url.startsWith('http:') && !config.isDevelopment && !isFromLocalhost(c)) {
      const advice = 'If the request had a key, replace the key: it has travelled in clear.';
      throw new ApiError('https_required', `Send the request to https. ${advice}`);
    }
    const isMisplaced = isDeployed && config.isDevelopment && !isFromLocalhost(c);
    const faults = isMisplaced ? [...config.faults, NOT_DEVELOPMENT] : config.faults;
    if (faults.length > 0) {
      throw new ApiError('internal_error', 'The service is misconfigured.', {
        cause: new Error(`malformed configuration: ${faults.join('; ')}`),
      });
    }
    return next();
  });
}
