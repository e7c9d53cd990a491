/**
 * The rate limit of everything under /api.
 *
 * Reads are counted beside their work, so that they take the slower of the two; everything else is
 * counted first. Counting guards the service and must not break it: a counter that fails or stalls
 * lets the request pass.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { noteSender } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { type ApiError, rateLimitExceeded, tooManyAtOnce } from '../http/errors.ts';
import { timed } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { clientOf } from './client-address.ts';
import type { CounterName } from './counter.ts';
import { fetchLease, openNextWindow, waitForCount } from './counting.ts';
import { resetSeconds, setRateLimitHeaders } from './headers.ts';
import { Pools } from './pools.ts';
import { Turns } from './turns.ts';

/** The wait of a client that overloads its own object. */
const OVERLOADED_RESET_MS = 1_000;
const INGEST_PATH = '/api/public/events/ingest';

/** Headers that a 429 takes over from the response that it replaces: a browser has to be able to read it. */
const SET_BY_CORS = /^(access-control-.*|vary)$/;

/** Refuses with 429 `rate_limit_exceeded`, and sets both header families on every counted response. */
export function rateLimit() {
  const pools = new Pools();
  const turns = new Turns();
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const counter = counterOf(c.req.method, c.req.path);
    if (counter === undefined) return next();
    const limit = configOf(c.env).rateLimits[counter];
    const client = clientOf(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker'));
    const pool = pools.of(counter, client, limit);
    const inBackground = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
    const objects = c.env.RATE_COUNTER;
    const source = { objects, counter, client, limit, pool, turns, inBackground };

    if (turns.beginRequest()) {
      const pause = turns.pause(0);
      // A request that is broken off must not stay among those that pause.
      inBackground(pause);
      await pause;
    }
    const atOnce = pool.count(Date.now());
    const counting = atOnce ?? timed('counter_ms', () => waitForCount(source));
    // A request that is broken off must not stay among those that wait.
    if (counting instanceof Promise) inBackground(counting);
    const work = isRead(c.req.method) && atOnce?.outcome !== 'refused' ? next() : undefined;
    const counted = await counting;
    switch (counted.outcome) {
      case 'overloaded':
        return refuse(c, counter, limit, OVERLOADED_RESET_MS, tooManyAtOnce);
      case 'refused':
        return refuse(c, counter, limit, counted.resetMs, (seconds) =>
          rateLimitExceeded(limit, seconds),
        );
      case 'allowed': {
        const now = Date.now();
        const wanted = pool.wantedInAdvance(now);
        if (wanted > 0) inBackground(fetchLease(source, wanted));
        const lastMs = pool.lastMomentsMs(now);
        if (lastMs !== undefined) inBackground(openNextWindow(source, lastMs));
        await (work ?? next());
        setRateLimitHeaders(c.res.headers, counter, counted);
        return undefined;
      }
      case 'uncounted':
        await (work ?? next());
        return undefined;
    }
  });
}

/** Returns the counter of a request; requests outside of /api are not counted. */
function counterOf(method: string, path: string): CounterName | undefined {
  if (method === 'POST' && path === INGEST_PATH) return 'ingest';
  return path.startsWith('/api/') || path === '/api' ? 'default' : undefined;
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/**
 * Answers 429 in place of what a read's work may have answered by now. Work that is still under way
 * goes on by itself: nobody waits for what is refused.
 */
async function refuse(
  c: Context<AppEnv>,
  counter: CounterName,
  limit: number,
  resetMs: number,
  refusalOf: (retryAfterSeconds: number) => ApiError,
): Promise<undefined> {
  await noteSender(c);
  const response = renderError(refusalOf(resetSeconds(resetMs)), c);
  setRateLimitHeaders(response.headers, counter, { limit, remaining: 0, resetMs });
  for (const [name, value] of c.res.headers) {
    if (SET_BY_CORS.test(name)) response.headers.set(name, value);
  }
  // Hono merges the headers of the old response into one that is assigned over it.
  c.res = undefined;
  c.res = response;
}
