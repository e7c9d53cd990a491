/**
 * Applies the rate limit to /api. Counts each request before it is handled, and sets the rate-limit
 * headers.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { LRUCache } from 'lru-cache';
import type { AppEnv } from '../app-env.ts';
import { API_KEY_HEADER, identifyKey } from '../auth/api-key.ts';
import { readConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { resolveClient, UNKNOWN } from './client-address.ts';
import { type PolicyName, WINDOW_SECONDS } from './counter-arithmetic.ts';
import { IsolateCounter } from './isolate-counter.ts';

/** Maximum number of clients that an isolate counts. In practice, it serves fewer clients per window. */
const MAX_CLIENTS = 10_000;

type RateLimitOptions = { ingestPaths: readonly string[] };

/** A request's client and its limit. `policyName` is the policy's name in the response headers. */
type ClientQuota = {
  client: string;
  isKey: boolean;
  policy: PolicyName;
  policyName: string;
  limit: number;
};

/**
 * Counts each request of /api, and rejects it with 429 `rate_limit_exceeded` if its client has reached
 * the limit. Sets the `X-RateLimit-*` headers, and the headers of
 * draft-ietf-httpapi-ratelimit-headers-10.
 *
 *     request                         client            policy
 *     any, with a key named `site`    key site          default, with the limit of the key;
 *       that has its own limit                            the headers call it `site`
 *     POST to one of `ingestPaths`    203.0.113.7       ingest
 *     any other                       203.0.113.7       default
 */
export function rateLimit(options: RateLimitOptions) {
  // `maxSize` instead of `max`, which would allocate all entries when the isolate starts.
  const counters = new LRUCache<string, IsolateCounter>({ maxSize: MAX_CLIENTS });
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const now = Date.now();
    const key = identifyKey(c.req.header(API_KEY_HEADER), readConfig(c.env), now);
    c.set('key', key);
    if (key !== undefined && 'caller' in key) c.set('caller', key.caller);
    if (c.req.path !== '/api' && !c.req.path.startsWith('/api/')) return next();
    const quota = resolveQuota(c, options);
    c.set('client', quota.client);
    const name = `${quota.policy} ${quota.client}`;
    let counter = counters.get(name);
    if (counter === undefined) {
      counter = new IsolateCounter(quota);
      counters.set(name, counter, { size: 1 });
    }
    const verdict = await counter.admit(c, now);
    if (verdict === 'admitted') await next();

    let { remaining, resetSeconds } = counter.quotaAt(Date.now());
    if (verdict !== 'admitted') {
      const isOverloaded = verdict === 'overloaded';
      // Requests may have left the window since the permit was denied.
      if (isOverloaded || remaining > 0) resetSeconds = 1;
      remaining = 0;
      const excess = isOverloaded
        ? 'Too many requests at once.'
        : `More than ${quota.limit} requests in ${WINDOW_SECONDS} seconds.`;
      const error = new ApiError('rate_limit_exceeded', `${excess} Retry in ${resetSeconds} s.`, {
        headers: { 'Retry-After': String(resetSeconds) },
      });
      c.res = renderError(error, c);
    }
    const { policyName, limit } = quota;
    const { headers } = c.res;
    headers.set('X-RateLimit-Limit', String(limit));
    headers.set('X-RateLimit-Remaining', String(remaining));
    headers.set('X-RateLimit-Reset', String(resetSeconds));
    headers.set('RateLimit-Policy', `"${policyName}";q=${limit};w=${WINDOW_SECONDS}`);
    headers.set('RateLimit', `"${policyName}";r=${remaining};t=${resetSeconds}`);
    return undefined;
  });
}

/** Identifies the client of a request, and chooses its policy. */
function resolveQuota(c: Context<AppEnv>, { ingestPaths }: RateLimitOptions): ClientQuota {
  const { rateLimits } = readConfig(c.env);
  const key = c.get('key');
  if (key?.outcome === 'valid' && key.rateLimit !== undefined) {
    const { caller, rateLimit } = key;
    return {
      client: `key ${caller}`,
      isKey: true,
      policy: 'default',
      policyName: caller,
      limit: rateLimit,
    };
  }
  const address = c.req.header('CF-Connecting-IP');
  const client = resolveClient(address, c.req.header('CF-Worker'));
  if (client === UNKNOWN) {
    setLogFields({ client_fault: address === undefined ? 'no address' : 'malformed address' });
  }
  const isIngest = c.req.method === 'POST' && ingestPaths.includes(c.req.path);
  const policy = isIngest ? 'ingest' : 'default';
  return { client, isKey: false, policy, policyName: policy, limit: rateLimits[policy] };
}
