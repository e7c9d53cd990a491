/** The middlewares that routes put before their handlers: who may call which route. */

import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { note } from '../http/request-context.ts';
import { isApiKey } from './api-key.ts';
import { judgeBearer } from './bearer.ts';
import { allows } from './permissions.ts';
import { API_KEY_REFUSALS, FEED_PERMISSION, FEED_REFUSALS } from './refusals.ts';

/**
 * Admits backend services: a valid `x-api-key`.
 * Throws 401 `authentication_required` or `authentication_invalid`.
 */
export function requireApiKey() {
  return createMiddleware<AppEnv>(async function requireApiKey(c, next) {
    const key = c.req.header('x-api-key');
    if (key !== undefined && isApiKey(key, configOf(c.env).apiKeys)) return next();
    const isAnySent = key !== undefined || c.req.header('Authorization') !== undefined;
    throw isAnySent ? API_KEY_REFUSALS.invalid() : API_KEY_REFUSALS.required();
  });
}

/**
 * Admits readers of the property feed: an API key, or the token of a user who may view the web area.
 * One good credential is enough, whatever stands beside it.
 * Throws 401 as `requireApiKey` does, 403 `permission_denied` for a valid token without the
 * permission, and `KeySetUnavailable`, a 500, when the keys that would verify a token cannot be had.
 */
export function requireFeedAccess() {
  return createMiddleware<AppEnv>(async function requireFeedAccess(c, next) {
    const key = c.req.header('x-api-key');
    const { apiKeys, jwt } = configOf(c.env);
    if (key !== undefined && isApiKey(key, apiKeys)) return next();
    const authorization = c.req.header('Authorization');
    if (authorization === undefined) {
      throw key === undefined ? FEED_REFUSALS.required() : FEED_REFUSALS.invalid();
    }
    const bearer = await judgeBearer(authorization, jwt);
    if (bearer.outcome === 'invalid') {
      note({ token_fault: bearer.fault });
      throw FEED_REFUSALS.invalidToken();
    }
    const { area, level } = FEED_PERMISSION;
    if (!allows(bearer.permissions, area, level)) throw FEED_REFUSALS.denied();
    return next();
  });
}
