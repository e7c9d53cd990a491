/** Renders the service's errors. Never throws, and depends on no other middleware. */

import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { ApiError, internalError, validationError } from './errors.ts';
import { getMessageWithHint } from './hints.ts';
import { logError, setLogFields } from './log.ts';
import { resolveRequestId } from './request-id.ts';

/** Turns a thrown value into an error response. Logs the cause of a 5xx, which callers never see. */
export function renderThrown(thrown: unknown, c: Context): Response {
  const error = toApiError(thrown);
  if (error.status >= 500) logError('request failed', error.cause ?? error);
  return renderError(error, c);
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  // Hono throws an `HTTPException` for a request that it cannot read.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    const message = 'The request could not be read.';
    return validationError([{ path: '', message }], { cause: thrown });
  }
  return internalError(thrown);
}

/** Renders an error. `resource` contains fields of the body in addition to the error envelope. */
export function renderError(error: ApiError, c: Context, resource: object = {}): Response {
  setLogFields({ error_code: error.code, ...(error.field && { error_param: error.field }) });
  const request = {
    id: resolveRequestId(c),
    method: c.req.method,
    path: /^https?:\/\/[^/]*([^?#]*)/.exec(c.req.url)?.[1] ?? c.req.path,
    respondedAt: new Date().toISOString(),
  };
  const message = getMessageWithHint(error, c);
  // Clients in Stripe's style retry a 409 unless this header forbids it.
  const isWorthRetrying = error.status === 429 || error.status >= 500;
  return Response.json(
    { ...resource, ...createErrorBody(error, request, message) },
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

/** Builds the body of an error. The fields outside `error` are for older clients. */
export function createErrorBody(error: ApiError, request: ErrorRequest, message = error.message) {
  const { details } = error;
  return {
    error: {
      type: error.type,
      code: error.code,
      message,
      ...(error.param !== undefined && { param: error.param }),
      request_id: request.id,
      // The other fields of a problem are for the log.
      ...(details && { details: details.map(({ path, message }) => ({ path, message })) }),
    },
    statusCode: error.status,
    timestamp: request.respondedAt,
    path: request.path,
    method: request.method,
    message,
  };
}
