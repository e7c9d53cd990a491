/** Rejects plain http: a key would travel in clear. */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type AppEnv, readConfig } from '../config.ts';
import { ApiError } from './errors.ts';
import { isOwnMachine } from './own-machine.ts';

type Options = {
  /** Finds the caller whose key has travelled in clear, for the log. */
  findCaller: (c: Context<AppEnv>) => Promise<string | undefined>;
};

/** Rejects plain http with 403 `https_required`, except in development and at the machine itself. */
export function requireHttps({ findCaller }: Options) {
  return createMiddleware<AppEnv>(async function requireHttps(c, next) {
    if (!c.req.url.startsWith('http:') || readConfig(c.env).isDevelopment) return next();
    // A URL cannot be parsed when the Host header is no valid authority.
    const { hostname, pathname } = URL.parse(c.req.url) ?? {};
    const isApi = pathname === '/api' || pathname?.startsWith('/api/') === true;
    if (!isApi || isOwnMachine(hostname ?? '')) return next();
    const caller = await findCaller(c);
    if (caller !== undefined) c.set('caller', caller);
    throw httpsRequired();
  });
}

/** 403 `https_required`. */
export function httpsRequired(): ApiError {
  const advice = 'If the request had a key, replace the key: it has travelled in clear.';
  return new ApiError('https_required', `Send the request to https. ${advice}`);
}
