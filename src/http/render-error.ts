/**
 * The one renderer of errors: every error is answered with the same envelope, whatever went wrong.
 * It needs nothing that another middleware sets, and it never throws.
 */

import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { ApiError, internalError, validationError } from './errors.ts';
import { logFault } from './log.ts';
import { note } from './request-context.ts';
import { requestIdOf } from './request-id.ts';
import { setupHint } from './setup-hint.ts';

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
