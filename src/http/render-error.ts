/**
 * The one renderer of errors: every error is answered with the same envelope, whatever went wrong.
 * It needs nothing that another middleware sets, and it never throws.
 */

import type { Context, Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { HTTPException } from 'hono/http-exception';
import type { AppEnv } from '../config.ts';
import { ApiError, internalError, validationError } from './errors.ts';
import { logFault, note } from './log.ts';
import { requestIdOf } from './response-headers.ts';

/** Answers whatever was thrown, for `app.onError`. The cause of a 5xx is logged and never shown. */
export function renderThrown(thrown: unknown, c: Context): Response {
  const error = apiErrorOf(thrown);
  if (error.status >= 500) logFault('request failed', error.cause ?? error);
  return renderError(error, c);
}

/** Answers an error. `resource` holds fields that the body has beside the envelope. */
export function renderError(error: ApiError, c: Context, resource: object = {}): Response {
  note({ error_code: error.code });
  const request = {
    id: requestIdOf(c),
    method: c.req.method,
    path: pathOf(c),
    answeredAt: new Date().toISOString(),
  };
  return Response.json(
    { ...resource, ...errorBody(error, request, setupHint(c, error)) },
    {
      status: error.status,
      headers: {
        'Cache-Control': 'no-store',
        ...error.headers,
        'X-Should-Retry': shouldRetry(error),
      },
    },
  );
}

/** The parts of a request that the envelope repeats. `answeredAt` is an ISO 8601 timestamp. */
export type ErrorRequest = { id: string; method: string; path: string; answeredAt: string };

/** The envelope: `error`, which new clients read, and the top level, which older clients read. */
export function errorBody(error: ApiError, request: ErrorRequest, hint = '') {
  const message = `${error.message}${hint}`;
  return {
    error: {
      type: error.type,
      code: error.code,
      message,
      ...(error.param !== undefined && { param: error.param }),
      request_id: request.id,
      ...(error.details !== undefined && { details: error.details }),
    },
    statusCode: error.status,
    timestamp: request.answeredAt,
    path: request.path,
    method: request.method,
    message,
  };
}

function apiErrorOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // Hono throws these for a request that it cannot read.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    const message = 'The request could not be read.';
    return validationError([{ path: '', message }], { cause: thrown });
  }
  return internalError(thrown);
}

/** Tells clients in Stripe's style, which retry a 409 unless they are told not to. */
function shouldRetry({ status }: ApiError): 'true' | 'false' {
  return status === 429 || status === 500 ? 'true' : 'false';
}

/** The path as sent, without the query; the routed path when the Host header is not a valid authority. */
function pathOf(c: Context): string {
  return URL.parse(c.req.url)?.pathname ?? c.req.path;
}

/** Throws an Error in place of anything else, which becomes its `cause`. */
export function errorGuard() {
  return createMiddleware<AppEnv>(async function errorGuard(_c, next) {
    try {
      await next();
    } catch (thrown) {
      throw thrown instanceof Error
        ? thrown
        : new Error(`a ${typeof thrown} was thrown`, { cause: thrown });
    }
  });
}

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const HINT = ' This working copy is not set up: run `npm run dev` once.';

/**
 * Returns the end of the message: empty for a service that is set up, and for every deployed one, as
 * Cloudflare routes no request to a local host's name. Set up means: there is an `API_KEY`, and the tables
 * exist.
 */
export function setupHint(c: Context, error: ApiError): string {
  const host = URL.parse(c.req.url)?.hostname ?? '';
  if (!LOCAL_HOSTS.includes(host)) return '';
  const { API_KEY } = (c.env ?? {}) as { API_KEY?: unknown };
  return API_KEY === undefined || isMissingTable(error) ? HINT : '';
}

function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /no such table/i.test(error.message) || isMissingTable(error.cause);
}

/**
 * Adds a route to each path of the service that answers every other method with 405
 * `method_not_allowed` and `Allow`. The access log shows it under the path's own pattern.
 * Called after all other routes.
 */
export function refuseOtherMethods(app: Hono<AppEnv>): void {
  for (const [path, methods] of methodsByPath(app)) {
    app.all(path, (c) => {
      throw new ApiError('method_not_allowed', `${c.req.method} is not allowed at this path.`, {
        headers: { Allow: [...methods].join(', ') },
      });
    });
  }
}

/** Returns the methods of each path: HEAD wherever GET is one. Middleware has no method of its own. */
function methodsByPath(app: Hono<AppEnv>): Map<string, Set<string>> {
  const known = new Map<string, Set<string>>();
  for (const { method, path } of app.routes) {
    if (method === 'ALL') continue;
    const methods = known.get(path) ?? new Set();
    known.set(path, methods.add(method));
    if (method === 'GET') methods.add('HEAD');
  }
  return known;
}
