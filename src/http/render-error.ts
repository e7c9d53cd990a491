/** The one renderer of errors. It needs nothing of other middleware, and never throws. */

import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { ApiError, internalError, validationError } from './errors.ts';
import { addHint, findSetupHint } from './hints.ts';
import { logError, setLogFields } from './log.ts';
import { resolveRequestId } from './request-id.ts';

/** For `app.onError`. The cause of a 5xx is logged and never shown. */
export function renderThrown(thrown: unknown, c: Context): Response {
  const error = toApiError(thrown);
  if (error.status >= 500) logError('request failed', error.cause ?? error);
  return renderError(error, c);
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
  const request = {
    id: resolveRequestId(c),
    method: c.req.method,
    path: /^https?:\/\/[^/]*([^?#]*)/.exec(c.req.url)?.[1] ?? c.req.path,
    respondedAt: new Date().toISOString(),
  };
  const message = addHint(error.message, findSetupHint(error, c));
  // Clients in Stripe's style retry a 409 unless this header forbids it.
  const isWorthRetrying = error.status === 429 || error.status >= 500;
  return Response.json(
    { ...resource, ...errorBody(error, request, message) },
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

/** Older clients read the top level. A problem shows its path and its message, and nothing else. */
export function errorBody(error: ApiError, request: ErrorRequest, message = error.message) {
  const { details } = error;
  return {
    error: {
      type: error.type,
      code: error.code,
      message,
      ...(error.param !== undefined && { param: error.param }),
      request_id: request.id,
      ...(details && { details: details.map(({ path, message }) => ({ path, message })) }),
    },
    statusCode: error.status,
    timestamp: request.respondedAt,
    path: request.path,
    method: request.method,
    message,
  };
}
