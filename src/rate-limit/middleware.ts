/**
 * The rate limit of everything under /api (specification: Limits).
 *
 * Reads are counted beside their work, so that they cost the slower of the two; everything else is
 * counted first. Counting guards the service and must not be what breaks it: a counter that fails or
 * stalls lets the request pass.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { ApiError } from '../http/errors.ts';
import { logFault } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { requestIdOf } from '../http/request-id.ts';
import { withDeadline } from '../storage/deadline.ts';
import { clientOf } from './client-address.ts';
import type { CounterName } from './counter.ts';
import { resetSeconds, setRateLimitHeaders } from './headers.ts';
import { Offenders } from './offenders.ts';
import { type Count, unpack, WINDOW_SECONDS } from './window.ts';

const COUNTER_DEADLINE_MS = 1_000;
/** What a client that overloads its own object is told to wait. */
const OVERLOADED_RESET_MS = 1_000;
const INGEST_PATH = '/api/public/events/ingest';

/** What stands on the response before the limit is asked: a browser has to be able to read a 429. */
const SET_BY_CORS = /^(access-control-.*|vary)$/;

/** What is known of a request's count; `uncounted` when the counter failed or stalled. */
type Counted = Count | { outcome: 'overloaded' } | { outcome: 'uncounted' };

/** Refuses with 429 `rate_limit_exceeded`, and puts both header families on every counted response. */
export function rateLimit() {
  const offenders = new Offenders();
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const counter = counterOf(c.req.method, c.req.path);
    if (counter === undefined) return next();
    const limit = configOf(c.env).rateLimits[counter];
    const client = clientOf(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker'));
    const resetMs = offenders.find(counter, client, Date.now());
    if (resetMs !== undefined) return refuse(c, counter, limit, resetMs);

    const counting = countRequest(c, counter, client, limit);
    const work = isRead(c.req.method) ? next() : undefined;
    const counted = await counting;
    switch (counted.outcome) {
      case 'overloaded':
        return refuse(c, counter, limit, OVERLOADED_RESET_MS);
      case 'refused':
        offenders.add(counter, client, Date.now() + counted.resetMs);
        return refuse(c, counter, limit, counted.resetMs);
      case 'allowed':
        await (work ?? next());
        setRateLimitHeaders(c.res.headers, counter, counted);
        return undefined;
      case 'uncounted':
        await (work ?? next());
        return undefined;
    }
  });
}

/** `ingest` for the ingestion endpoint, `default` for all else under /api; other paths are not counted. */
function counterOf(method: string, path: string): CounterName | undefined {
  if (method === 'POST' && path === INGEST_PATH) return 'ingest';
  return path.startsWith('/api/') || path === '/api' ? 'default' : undefined;
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** One call of the client's object, of a second at most. Never rejects. */
async function countRequest(
  c: Context<AppEnv>,
  counter: CounterName,
  client: string,
  limit: number,
): Promise<Counted> {
  try {
    // A stub that has thrown stays broken: each request takes its own.
    const { RATE_COUNTER } = c.env;
    const stub = RATE_COUNTER.get(RATE_COUNTER.idFromName(client));
    const counting = stub.hit(counter, limit);
    return unpack(await withDeadline(counting, COUNTER_DEADLINE_MS, 'rate counter'), limit);
  } catch (error) {
    logFault('rate counter failed', requestIdOf(c), error);
    return { outcome: isOverloaded(error) ? 'overloaded' : 'uncounted' };
  }
}

/** How the platform marks the errors of an object that has more requests than it can serve. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}

/**
 * Answers 429, in place of what a read's work may have answered by now. Work that is still under way
 * is left to itself: nobody waits for what is refused.
 */
function refuse(c: Context, counter: CounterName, limit: number, resetMs: number): undefined {
  const seconds = resetSeconds(resetMs);
  const error = new ApiError(
    'rate_limit_exceeded',
    `More than ${limit} requests in ${WINDOW_SECONDS} seconds. Retry in ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
  const response = renderError(error, c);
  setRateLimitHeaders(response.headers, counter, { limit, remaining: 0, resetMs });
  for (const [name, value] of c.res.headers) {
    if (SET_BY_CORS.test(name)) response.headers.set(name, value);
  }
  // Assigning over a response would take all of its headers along.
  c.res = undefined;
  c.res = response;
}
