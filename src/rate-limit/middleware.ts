/** The rate limit of all of /api, its headers and its 429. Counting comes before the work. */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { LRUCache } from 'lru-cache';
import { type AppEnv, readConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { renderError } from '../http/render-error.ts';
import { resolveClient } from './client-address.ts';
import { ClientWindow } from './client-window.ts';
import { WINDOW_SECONDS } from './window.ts';

/** More clients than one isolate serves in a window. */
const MAX_CLIENTS = 10_000;
/** `Retry-After` of a client that overloads its own object. */
const OVERLOADED_RESET_SECONDS = 1;

type Options = {
  /** A POST to one of these counts as `ingest`, all else as `default`. */
  ingestPaths: readonly string[];
  /** Finds the limit that a valid key has of its own. */
  findOwnLimit: (c: Context<AppEnv>) => Promise<{ name: string; limit: number } | undefined>;
};

/**
 * Rejects with 429 `rate_limit_exceeded`. Sets two families of headers: `X-RateLimit-*`, and those
 * of draft-ietf-httpapi-ratelimit-headers-10. A key with a limit of its own has one counter for all
 * routes; all other requests are counted by address.
 */
export function rateLimit({ ingestPaths, findOwnLimit }: Options) {
  // With `max`, the cache would allocate the place of every client at the start of the isolate.
  const windows = new LRUCache<string, ClientWindow>({ maxSize: MAX_CLIENTS });
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const { method, path } = c.req;
    if (path !== '/api' && !path.startsWith('/api/')) return next();
    const { rateLimits, hasOwnLimits } = readConfig(c.env);
    const own = hasOwnLimits ? await findOwnLimit(c) : undefined;
    const isIngest = method === 'POST' && ingestPaths.includes(path) && own === undefined;
    const counter = isIngest ? 'ingest' : 'default';
    const limit = own?.limit ?? rateLimits[counter];
    const client = own
      ? `key ${own.name}`
      : resolveClient(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker'));
    c.set('client', client);
    if (own) c.set('caller', own.name);
    const key = `${counter} ${client}`;
    const now = Date.now();
    let window = windows.get(key);
    if (window === undefined || window.hasEnded(now)) {
      window = new ClientWindow({ client, counter, limit }, now, window);
      windows.set(key, window, { size: 1 });
    }
    // Feed read, 1; ingest, 1.
    const verdict = await window.admit(c, now);
    if (verdict === 'passed') {
      await next();
    } else if (verdict === 'rejected') {
      c.res = renderError(rateLimitExceeded(window.stateAt(Date.now()).resetSeconds, limit), c);
    } else {
      c.res = renderError(rateLimitExceeded(OVERLOADED_RESET_SECONDS), c);
    }

    // Feed read, 8. A waiting request may have outlived its window.
    const { remaining, resetSeconds } = (windows.get(key) ?? window).stateAt(Date.now());
    const { headers } = c.res;
    headers.set('X-RateLimit-Limit', String(limit));
    headers.set('X-RateLimit-Remaining', String(remaining));
    headers.set('X-RateLimit-Reset', String(resetSeconds));
    const policy = own?.name ?? counter;
    headers.set('RateLimit-Policy', `"${policy}";q=${limit};w=${WINDOW_SECONDS}`);
    headers.set('RateLimit', `"${policy}";r=${remaining};t=${resetSeconds}`);
    return undefined;
  });
}

/** 429 `rate_limit_exceeded`. Without `limit`, requests come too fast to be counted. */
export function rateLimitExceeded(retryAfterSeconds: number, limit?: number): ApiError {
  const excess =
    limit === undefined
      ? 'Too many requests at once.'
      : `More than ${limit} requests in ${WINDOW_SECONDS} seconds.`;
  return new ApiError('rate_limit_exceeded', `${excess} Retry in ${retryAfterSeconds} s.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}
