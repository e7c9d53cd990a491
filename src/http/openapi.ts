/**
 * What the OpenAPI document says of every route: the headers that each answer carries, and the
 * answers to what any route may refuse. Read by the document, never by the service.
 */

import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { errorResource } from './error-resource.ts';
import { CATALOGUE, type ErrorCode, type Problem } from './errors.ts';
import { PRINTABLE_ID } from './request-id.ts';

const header = (id: string, schema: z.ZodType, description: string) =>
  schema.meta({ description, header: { id } });

const count = z.int32().min(0);
const seconds = z.int32().min(0);

const requestId = header(
  'X-Request-ID',
  z.string().min(1).max(200).regex(PRINTABLE_ID),
  'Names this request: the `X-Request-ID` that the client sent, else `req_<random>`.',
);

const throttled = {
  'X-RateLimit-Limit': header(
    'X-RateLimit-Limit',
    count.optional(),
    'Requests that a window of 60 seconds allows. Left out, with the other rate-limit headers, while the counter cannot be reached.',
  ),
  'X-RateLimit-Remaining': header(
    'X-RateLimit-Remaining',
    count.optional(),
    'Requests left in the current window.',
  ),
  'X-RateLimit-Reset': header(
    'X-RateLimit-Reset',
    seconds.optional(),
    'Seconds until the window ends.',
  ),
  'RateLimit-Policy': header(
    'RateLimit-Policy',
    z
      .string()
      .max(60)
      .regex(/^"(default|ingest)";q=\d+;w=\d+$/)
      .optional(),
    'The same limit as the IETF draft writes it: `"default";q=100;w=60`.',
  ),
  RateLimit: header(
    'RateLimit',
    z
      .string()
      .max(60)
      .regex(/^"(default|ingest)";r=\d+;t=\d+$/)
      .optional(),
    'What is left of it as the IETF draft writes it: `"default";r=99;t=60`.',
  ),
};

const security = {
  'X-Content-Type-Options': header(
    'X-Content-Type-Options',
    z.literal('nosniff'),
    'The content type is to be taken as stated.',
  ),
  'Strict-Transport-Security': header(
    'Strict-Transport-Security',
    z.literal('max-age=63072000; includeSubDomains'),
    'HTTPS only, for two years.',
  ),
  'Referrer-Policy': header(
    'Referrer-Policy',
    z.literal('no-referrer'),
    'Links from here name no referrer.',
  ),
  'Content-Security-Policy': header(
    'Content-Security-Policy',
    z.literal("default-src 'none'; frame-ancestors 'none'"),
    'The answer is data: nothing in it may run or be framed.',
  ),
  'Cross-Origin-Resource-Policy': header(
    'Cross-Origin-Resource-Policy',
    z.literal('cross-origin'),
    'Other origins may read the answer where CORS lets them.',
  ),
};

const crossOrigin = {
  'Access-Control-Allow-Origin': header(
    'Access-Control-Allow-Origin',
    z.string().max(300).regex(/^\S+$/).optional(),
    'The origin that may read the answer, when it is one of those configured.',
  ),
  'Access-Control-Expose-Headers': header(
    'Access-Control-Expose-Headers',
    z
      .string()
      .max(600)
      .regex(/^[\w-]+(, ?[\w-]+)*$/)
      .optional(),
    'The headers that a script of that origin may read.',
  ),
  Vary: header(
    'Vary',
    z
      .string()
      .max(100)
      .regex(/^[\w-]+(, ?[\w-]+)*$/)
      .optional(),
    'The request headers that the answer depends on.',
  ),
};

/** On every answer of every route. */
export const commonHeaders = {
  'X-Request-ID': requestId,
  ...throttled,
  ...security,
  ...crossOrigin,
};

const errorHeaders = {
  ...commonHeaders,
  'Cache-Control': header('No-Store', z.literal('no-store'), 'An error is not to be kept.'),
  'X-Should-Retry': header(
    'X-Should-Retry',
    z.enum(['true', 'false']),
    'Whether the same request may succeed later as it is.',
  ),
};

/** Seconds to wait, on a 429. */
const retryAfter = header(
  'Retry-After',
  z.int32().min(1),
  'Seconds to wait before the request is sent again.',
);

/** Request headers that every operation reads. */
export const commonRequestHeaders = {
  'X-Request-ID': z
    .string()
    .min(1)
    .max(200)
    .regex(PRINTABLE_ID)
    .optional()
    .meta({
      description:
        'Your own name for this request, 1 to 200 printable ASCII characters: it is echoed and logged.',
      param: { id: 'X-Request-ID' },
    }),
};

/** An error as an example shows it: the part that is this error's own. */
export type ErrorExample = {
  code: ErrorCode;
  message: string;
  param?: string;
  details?: readonly Problem[];
};

/** Where the example's request went. */
export type ExampleRequest = { method: 'GET' | 'POST'; path: string };

/** An example's value: the whole envelope. */
export function errorExample(example: ErrorExample, request: ExampleRequest) {
  const { code, message, ...rest } = example;
  const { status, type } = CATALOGUE[code];
  return {
    error: { type, code, message, request_id: 'req_0f4c1d9a6b7e4c2f8a35d1e07b92c648', ...rest },
    statusCode: status,
    timestamp: '2026-11-20T09:30:00.000Z',
    path: request.path,
    method: request.method,
    message,
  };
}

/**
 * The answer for one status: every error code that it can carry has an example of that name.
 * `headers` are those that this status alone has.
 */
export function errorResponse(
  description: string,
  request: ExampleRequest,
  examples: readonly [ErrorExample, ...ErrorExample[]],
  headers: Record<string, z.ZodType> = {},
): ZodOpenApiResponseObject {
  return {
    description,
    headers: z.object({ ...errorHeaders, ...headers }),
    content: {
      'application/json': {
        schema: errorResource,
        examples: Object.fromEntries(
          examples.map((example) => [
            example.code,
            { summary: example.code, value: errorExample(example, request) },
          ]),
        ),
      },
    },
  };
}

/** 401, as every route that asks for credentials answers it. */
export function unauthenticated(request: ExampleRequest): ZodOpenApiResponseObject {
  return errorResponse('No credentials were sent, or none that is valid here.', request, [
    { code: 'authentication_required', message: 'Send an API key in the x-api-key header.' },
    { code: 'authentication_invalid', message: 'The credentials sent are not valid here.' },
  ]);
}

/** 429 and 500, which any request may meet. */
export function anyTime(request: ExampleRequest) {
  return {
    429: errorResponse(
      'Too many requests from this address: wait for `Retry-After` seconds.',
      request,
      [{ code: 'rate_limit_exceeded', message: 'Too many requests. Retry after 42 seconds.' }],
      { 'Retry-After': retryAfter },
    ),
    500: errorResponse('The service failed: retry with growing pauses.', request, [
      { code: 'internal_error', message: 'An unexpected error occurred. Retry with backoff.' },
    ]),
  } satisfies Record<number, ZodOpenApiResponseObject>;
}
