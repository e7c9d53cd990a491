/**
 * The rate limit of everything under /api, with its headers and its 429.
 *
 * A read runs while it is counted, so it takes as long as the slower of the two. Every other request is counted before
 * it runs. The limit protects the service and must not stop it: while a counter fails or stalls, requests are served
 * uncounted.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { LRUCache } from 'lru-cache';
import { type AppEnv, configOf } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { timed } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { clientOf } from './client-address.ts';
import { type CounterName, WINDOW_SECONDS } from './lease.ts';
import { Pool } from './pool.ts';

const INGEST_PATHS = ['/api/public/events/ingest', '/api/public/events/ingest/batch'];
/** Far more clients than one isolate meets in a window. */
const MAX_POOLS = 10_000;
/** The time after which a client retries that overloads its own object. */
const OVERLOADED_RESET_MS = 1_000;

/** A 429 keeps these headers of the response that it replaces, so that a browser can read the 429. */
const SET_BY_CORS = /^(access-control-.*|vary)$/;

/** Refuses with 429 `rate_limit_exceeded`, and sets both header families on every counted response. */
export function rateLimit() {
  // With `max`, the cache would allocate the place of every pool at the start of the isolate.
  const pools = new LRUCache<string, Pool>({ maxSize: MAX_POOLS });
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const { method, path } = c.req;
    const counter = counterOf(method, path);
    if (counter === undefined) return next();
    const limit = configOf(c.env).rateLimits[counter];
    const client = clientOf(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker'));
    const key = `${counter} ${client}`;
    const pool = pools.get(key) ?? new Pool(counter, client, limit);
    pools.set(key, pool, { size: 1 });

    const immediate = pool.spend(Date.now());
    const isRead = method === 'GET' || method === 'HEAD';
    const counting = immediate ?? timed('counter_ms', () => pool.wait(c.env));
    // The call goes on when its request is cancelled: all requests of the client share the lease.
    if (counting instanceof Promise) c.executionCtx.waitUntil(counting);
    const work = isRead && immediate?.outcome !== 'refused' ? next() : undefined;
    const count = await counting;

    switch (count.outcome) {
      case 'allowed':
        pool.refill(c.env, Date.now(), c.executionCtx);
        await (work ?? next());
        setRateLimitHeaders(c.res.headers, counter, limit, count);
        return undefined;
      case 'uncounted':
        await (work ?? next());
        return undefined;
      case 'refused':
        return refuse(c, counter, limit, count.resetMs, rateLimitExceeded(limit, count.resetMs));
      case 'overloaded':
        return refuse(c, counter, limit, OVERLOADED_RESET_MS, tooManyAtOnce(OVERLOADED_RESET_MS));
    }
  });
}

/** 429 `rate_limit_exceeded`, for a client whose window is full for `resetMs` milliseconds. */
export function rateLimitExceeded(limit: number, resetMs: number): ApiError {
  const seconds = resetSeconds(resetMs);
  return new ApiError(
    'rate_limit_exceeded',
    `More than ${limit} requests in ${WINDOW_SECONDS} seconds. Retry in ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}

/** 429 `rate_limit_exceeded`, for a client that sends faster than its requests can be counted. */
export function tooManyAtOnce(resetMs: number): ApiError {
  const seconds = resetSeconds(resetMs);
  return new ApiError('rate_limit_exceeded', `Too many requests at once. Retry in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}

/** Returns the counter of a request, undefined outside of /api: these requests are not counted. */
function counterOf(method: string, path: string): CounterName | undefined {
  if (method === 'POST' && INGEST_PATHS.includes(path)) return 'ingest';
  return path.startsWith('/api/') || path === '/api' ? 'default' : undefined;
}

/**
 * Sets both families of headers: `X-RateLimit-*`, and the headers of the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */
function setRateLimitHeaders(
  headers: Headers,
  counter: CounterName,
  limit: number,
  { remaining, resetMs }: { remaining: number; resetMs: number },
): void {
  const reset = resetSeconds(resetMs);
  headers.set('X-RateLimit-Limit', String(limit));
  headers.set('X-RateLimit-Remaining', String(remaining));
  headers.set('X-RateLimit-Reset', String(reset));
  headers.set('RateLimit-Policy', `"${counter}";q=${limit};w=${WINDOW_SECONDS}`);
  headers.set('RateLimit', `"${counter}";r=${remaining};t=${reset}`);
}

/** Rounds up to whole seconds, at least 1: a client must not come back too early. */
function resetSeconds(resetMs: number): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}

/**
 * Answers 429, and drops the response that the handler of a read may have made already. A handler that still runs is
 * not awaited.
 */
function refuse(
  c: Context<AppEnv>,
  counter: CounterName,
  limit: number,
  resetMs: number,
  error: ApiError,
): void {
  const response = renderError(error, c);
  setRateLimitHeaders(response.headers, counter, limit, { remaining: 0, resetMs });
  for (const [name, value] of c.res.headers) {
    if (SET_BY_CORS.test(name)) response.headers.set(name, value);
  }
  // Without this, Hono merges the headers of the old response into the new one.
  c.res = undefined;
  c.res = response;
}
