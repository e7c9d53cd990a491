/** Rejects plain http: a key would travel in clear. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { API_KEY_HEADER, identifyKey } from '../auth/api-key.ts';
import { readConfig } from '../config.ts';
import { ApiError } from './errors.ts';
import { isFromOwnMachine } from './own-machine.ts';

/**
 * Rejects plain http with 403 `https_required`, except in development and at the machine itself. A
 * valid key is identified for the log only: it has travelled in clear, and has to be replaced.
 */
export function requireHttps() {
  return createMiddleware<AppEnv>(async function requireHttps(c, next) {
    const config = readConfig(c.env);
    if (!c.req.url.startsWith('http:') || config.isDevelopment) return next();
    if (isFromOwnMachine(c)) return next();
    const key = await identifyKey(c.req.header(API_KEY_HEADER), config, Date.now());
    if (key !== undefined && 'caller' in key) c.set('caller', key.caller);
    throw httpsRequired();
  });
}

/** 403 `https_required`. */
export function httpsRequired(): ApiError {
  const advice = 'If the request had a key, replace the key: it has travelled in clear.';
  return new ApiError('https_required', `Send the request to https. ${advice}`);
}
