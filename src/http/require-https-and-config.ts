/** Rejects plain-http requests, and all requests while a var is malformed. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { NOT_DEVELOPMENT, readConfig } from '../config.ts';
import { ApiError } from './errors.ts';
import { isFromLocalhost } from './localhost.ts';

/**
 * Rejects plain http with 403 `https_required`, except in development and on localhost.
 *
 * While a var is malformed, every route responds with 500 `internal_error`, and the log names the var.
 * If `isDeployed` is set, the environment `development` counts as malformed, except on localhost, where
 * `wrangler dev` runs.
 */
export function requireHttpsAndConfig({ isDeployed }: { isDeployed: boolean }) {
  return createMiddleware<AppEnv>(async function requireHttpsAndConfig(c, next) {
    const config = readConfig(c.env);
    if (c.req.url.startsWith('http:') && !config.isDevelopment && !isFromLocalhost(c)) {
      const hint = 'If the request had a key, replace the key: it has travelled in clear.';
      throw new ApiError('https_required', `Send the request to https. ${hint}`);
    }
    const isMisplaced = isDeployed && config.isDevelopment && !isFromLocalhost(c);
    const problems = isMisplaced ? [...config.problems, NOT_DEVELOPMENT] : config.problems;
    if (problems.length > 0) {
      throw new ApiError('internal_error', 'The service is misconfigured.', {
        cause: new Error(`malformed configuration: ${problems.join('; ')}`),
      });
    }
    return next();
  });
}
