/** The one renderer of errors. It needs nothing of other middleware, and never throws. */

import type { Context, Hono } from 'hono';
import { createMiddleware } from 'hono/factory';
import { HTTPException } from 'hono/http-exception';
import { type AppEnv, isOwnMachine } from '../config.ts';
import { ApiError, internalError, validationError } from './errors.ts';
import { logFault, setLogFields } from './log.ts';
import { resolveRequestId } from './response-headers.ts';

/** For `app.onError`. The cause of a 5xx is logged and never shown. */
export function renderThrown(thrown: unknown, c: Context): Response {
  const error = toApiError(thrown);
  if (error.status >= 500) logFault('request failed', error.cause ?? error);
  return renderError(error, c);
}

/** Renders a thrown value that is no `Error`: Hono gives only an `Error` to `app.onError`. */
export function renderOtherThrown() {
  return createMiddleware<AppEnv>(async function renderOtherThrown(c, next) {
    try {
      await next();
    } catch (thrown) {
      c.res = renderThrown(thrown, c);
    }
  });
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // Hono throws these for a request that it cannot read.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    const message = 'The request could not be read.';
    return validationError([{ path: '', message }], { cause: thrown });
  }
  return internalError(thrown);
}

/** `resource` has fields of the body beside the envelope. */
export function renderError(error: ApiError, c: Context, resource: object = {}): Response {
  setLogFields({ error_code: error.code, ...(error.field && { error_param: error.field }) });
  // A URL cannot be parsed when the Host header is no valid authority.
  const url = URL.parse(c.req.url);
  const isLocal = isOwnMachine(url?.hostname ?? '');
  const request = {
    id: resolveRequestId(c),
    method: c.req.method,
    path: url?.pathname ?? c.req.path,
    respondedAt: new Date().toISOString(),
  };
  const hint = isLocal && !isSetUp(c, error) ? SET_UP_HINT : '';
  // Clients in Stripe's style retry a 409 unless this header forbids it.
  const isWorthRetrying = error.status === 429 || error.status >= 500;
  return Response.json(
    { ...resource, ...errorBody(error, request, hint) },
    {
      status: error.status,
      headers: {
        'Cache-Control': 'no-store',
        ...error.headers,
        'X-Should-Retry': String(isWorthRetrying),
      },
    },
  );
}

/** `path` has no query. `respondedAt` is an ISO 8601 timestamp. */
type ErrorRequest = { id: string; method: string; path: string; respondedAt: string };

/** Older clients read the top level. */
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
    timestamp: request.respondedAt,
    path: request.path,
    method: request.method,
    message,
  };
}

const SET_UP_HINT = ' This working copy is not set up: run `npm run dev` once.';

/** A working copy that is set up has an `API_KEY`, and its database the tables. */
function isSetUp(c: Context, error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (/no such table/i.test(cause.message)) return false;
  }
  const { API_KEY } = (c.env ?? {}) as { API_KEY?: unknown };
  return API_KEY !== undefined;
}

/** Rejects other methods of each path with 405 `method_not_allowed`. Call it last. */
export function rejectOtherMethods(app: Hono<AppEnv>): void {
  for (const [path, methods] of methodsByPath(app)) {
    app.all(path, (c) => {
      throw new ApiError('method_not_allowed', `${c.req.method} is not allowed at this path.`, {
        headers: { Allow: [...methods].join(', ') },
      });
    });
  }
}

/** Returns path → methods. A path with GET has HEAD too. Middleware has the method ALL. */
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
