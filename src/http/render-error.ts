/**
 * The one renderer of errors: whatever went wrong, the answer has this envelope
 * (specification: Errors, Envelope). It needs nothing that another middleware sets and never throws.
 */

import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { ApiError } from './errors.ts';
import { logFault } from './log.ts';
import { requestIdOf } from './request-id.ts';

/** For `app.onError`: known errors as they are, everything else as a 500 whose cause is only logged. */
export function renderThrown(error: unknown, c: Context): Response {
  if (error instanceof ApiError) {
    if (error.status >= 500) logFault('request failed', requestIdOf(c), error.cause ?? error);
    return renderError(error, c);
  }
  if (error instanceof HTTPException && error.status < 500) {
    return renderError(fromHttpException(error), c);
  }
  logFault('request failed', requestIdOf(c), error);
  return renderError(
    new ApiError('internal_error', 'An unexpected error occurred. Retry with backoff.'),
    c,
  );
}

/** The response for a known error; `beside` are fields of a resource that the body has as well. */
export function renderError(error: ApiError, c: Context, beside: object = {}): Response {
  return Response.json(
    { ...beside, ...errorBody(error, c) },
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

/** Both halves of the envelope: `error`, and the top level that older clients read. */
function errorBody(error: ApiError, c: Context) {
  return {
    error: {
      type: error.type,
      code: error.code,
      message: error.message,
      ...(error.param === undefined ? {} : { param: error.param }),
      request_id: requestIdOf(c),
      ...(error.details === undefined ? {} : { details: error.details }),
    },
    statusCode: error.status,
    timestamp: new Date().toISOString(),
    path: pathOf(c),
    method: c.req.method,
    message: error.message,
  };
}

/** Clients in Stripe's style retry a 409 unless they are told not to. */
function shouldRetry(error: ApiError): 'true' | 'false' {
  return error.status === 429 || error.status === 500 ? 'true' : 'false';
}

/** The path as sent, without the query; of a request whose Host makes no address, as it was routed. */
function pathOf(c: Context): string {
  return URL.parse(c.req.url)?.pathname ?? c.req.path;
}

/** Hono's own exceptions: those the service can meet are about the request's form. */
function fromHttpException(error: HTTPException): ApiError {
  return new ApiError('validation_error', 'The request could not be read.', {
    details: [{ path: '', message: 'The request could not be read.' }],
    cause: error,
  });
}
