/**
 * The rate limit of everything under /api.
 *
 * Reads are counted beside their work, so that they take the slower of the two; everything else is
 * counted first. Counting guards the service and must not break it: a counter that fails or stalls
 * lets the request pass.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { rateLimitExceeded } from '../http/errors.ts';
import { logFault } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { timed } from '../http/request-context.ts';
import { withDeadline } from '../storage/deadline.ts';
import { clientOf } from './client-address.ts';
import type { CounterName } from './counter.ts';
import { resetSeconds, setRateLimitHeaders } from './headers.ts';
import { Offenders } from './offenders.ts';
import type { Count } from './window.ts';

const COUNTER_DEADLINE_MS = 1_000;
/** The wait of a client that overloads its own object. */
const OVERLOADED_RESET_MS = 1_000;
const INGEST_PATH = '/api/public/events/ingest';

/** Headers that a 429 takes over from the response that it replaces: a browser has to be able to read it. */
const SET_BY_CORS = /^(access-control-.*|vary)$/;

/** The count of a request. It is `uncounted` when the counter failed or stalled. */
type Counted = Count | { outcome: 'overloaded' } | { outcome: 'uncounted' };

/** Refuses with 429 `rate_limit_exceeded`, and sets both header families on every counted response. */
export function rateLimit() {
  const offenders = new Offenders();
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const counter = counterOf(c.req.method, c.req.path);
    if (counter === undefined) return next();
    const limit = configOf(c.env).rateLimits[counter];
    const client = clientOf(c.req.header('CF-Connecting-IP'), c.req.header('CF-Worker'));
    const resetMs = offenders.find(counter, client, Date.now());
    if (resetMs !== undefined) return refuse(c, counter, limit, resetMs);

    const counting = timed('counter_ms', () => countRequest(c, counter, client, limit));
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

/** Returns the counter of a request; requests outside of /api are not counted. */
function counterOf(method: string, path: string): CounterName | undefined {
  if (method === 'POST' && path === INGEST_PATH) return 'ingest';
  return path.startsWith('/api/') || path === '/api' ? 'default' : undefined;
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Calls the client's object, for a second at most. Never rejects. */
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
    const counting = stub.count(counter, limit);
    const count = await withDeadline(counting, COUNTER_DEADLINE_MS, 'rate counter');
    const { outcome, remaining, resetMs } = count;
    // What an object returns keeps its call open until it is disposed of.
    count[Symbol.dispose]();
    return { outcome, limit, remaining, resetMs };
  } catch (error) {
    logFault('rate counter failed', error);
    return { outcome: isOverloaded(error) ? 'overloaded' : 'uncounted' };
  }
}

/** The platform marks the errors of an object that has more requests than it can serve. */
function isOverloaded(error: unknown): boolean {
  return error instanceof Error && 'overloaded' in error && error.overloaded === true;
}

/**
 * Answers 429 in place of what a read's work may have answered by now. Work that is still under way
 * goes on by itself: nobody waits for what is refused.
 */
function refuse(c: Context, counter: CounterName, limit: number, resetMs: number): undefined {
  const response = renderError(rateLimitExceeded(limit, resetSeconds(resetMs)), c);
  setRateLimitHeaders(response.headers, counter, { limit, remaining: 0, resetMs });
  for (const [name, value] of c.res.headers) {
    if (SET_BY_CORS.test(name)) response.headers.set(name, value);
  }
  // Hono merges the headers of the old response into one that is assigned over it.
  c.res = undefined;
  c.res = response;
}
