/** Who may call which route: the middlewares that routes put before their handlers. */

import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { ApiError } from '../http/errors.ts';
import { isApiKey } from './api-key.ts';

/** Backend services only: a valid `x-api-key`. Throws 401 `authentication_required` or `authentication_invalid`. */
export function requireApiKey() {
  return createMiddleware<AppEnv>(async function requireApiKey(c, next) {
    const sent = c.req.header('x-api-key');
    if (sent === undefined && c.req.header('Authorization') === undefined) {
      throw new ApiError('authentication_required', 'Send an API key in the x-api-key header.');
    }
    if (sent === undefined || !(await isApiKey(sent, configOf(c.env).apiKeys))) {
      throw new ApiError('authentication_invalid', 'The credentials sent are not valid here.');
    }
    await next();
  });
}
