/** The rate limit of all of /api, its headers and its 429. Counting comes before the work. */

import { createMiddleware } from 'hono/factory';
import { LRUCache } from 'lru-cache';
import type { AppEnv } from '../app-env.ts';
import { API_KEY_HEADER, identifyKey } from '../auth/api-key.ts';
import { readConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { resolveClient, UNKNOWN } from './client-address.ts';
import { ClientWindow } from './client-window.ts';
import { WINDOW_SECONDS } from './counter-arithmetic.ts';

/** More clients than one isolate serves in a window. */
const MAX_CLIENTS = 10_000;

/**
 * Rejects with 429 `rate_limit_exceeded`. Sets two families of headers: `X-RateLimit-*`, and those
 * of draft-ietf-httpapi-ratelimit-headers-10. A key with a limit of its own is the client of all
 * its requests, under one policy. The client of all other requests is their address: a POST to one
 * of `ingestPaths` has the policy `ingest`, all else `default`.
 */
export function rateLimit({ ingestPaths }: { ingestPaths: readonly string[] }) {
  // With `max`, the cache would allocate the place of every client at the start of the isolate.
  const windows = new LRUCache<string, ClientWindow>({ maxSize: MAX_CLIENTS });
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const config = readConfig(c.env);
    const now = Date.now();
    // For the limit, the route and the log.
    const key = identifyKey(c.req.header(API_KEY_HEADER), config, now);
    c.set('key', key);
    if (key !== undefined && 'caller' in key) c.set('caller', key.caller);
    const { method, path } = c.req;
    if (path !== '/api' && !path.startsWith('/api/')) return next();
    const own = key?.outcome === 'valid' && key.rateLimit !== undefined ? key : undefined;
    const isIngest = method === 'POST' && ingestPaths.includes(path) && own === undefined;
    const policy = isIngest ? 'ingest' : 'default';
    const limit = own?.rateLimit ?? config.rateLimits[policy];
    const address = c.req.header('CF-Connecting-IP');
    const client = own ? `key ${own.caller}` : resolveClient(address, c.req.header('CF-Worker'));
    if (client === UNKNOWN) {
      setLogFields({ client_fault: address === undefined ? 'no address' : 'malformed address' });
    }
    c.set('client', client);
    const name = `${policy} ${client}`;
    let window = windows.get(name);
    if (window === undefined) {
      window = new ClientWindow({ client, isKey: own !== undefined, policy, limit });
      windows.set(name, window, { size: 1 });
    }
    // Feed read, 1; ingest, 1.
    const verdict = await window.admit(c, now);
    if (verdict === 'passed') await next();

    // Feed read, 8.
    let { remaining, resetSeconds } = window.stateAt(Date.now());
    if (verdict !== 'passed') {
      const isOverloaded = verdict === 'overloaded';
      const excess = isOverloaded
        ? 'Too many requests at once.'
        : `More than ${limit} requests in ${WINDOW_SECONDS} seconds.`;
      // After an overload, or if other requests have left the window since the place was denied.
      if (isOverloaded || remaining > 0) resetSeconds = 1;
      remaining = 0;
      const error = new ApiError('rate_limit_exceeded', `${excess} Retry in ${resetSeconds} s.`, {
        headers: { 'Retry-After': String(resetSeconds) },
      });
      c.res = renderError(error, c);
    }
    const { headers } = c.res;
    headers.set('X-RateLimit-Limit', String(limit));
    headers.set('X-RateLimit-Remaining', String(remaining));
    headers.set('X-RateLimit-Reset', String(resetSeconds));
    const policyName = own?.caller ?? policy;
    headers.set('RateLimit-Policy', `"${policyName}";q=${limit};w=${WINDOW_SECONDS}`);
    headers.set('RateLimit', `"${policyName}";r=${remaining};t=${resetSeconds}`);
    return undefined;
  });
}
