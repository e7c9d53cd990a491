/**
 * What the OpenAPI document says of every route: the parameters that many read, and the answers to
 * what any route may refuse. Read by the document, never by the service.
 */

import * as z from 'zod';
import type { ZodOpenApiResponseObject } from 'zod-openapi';
import { errorResource } from './error-resource.ts';
import { CATALOGUE, type ErrorCode, type Problem } from './errors.ts';
import { challenge, errorHeaders, retryAfter } from './openapi-headers.ts';
import { cursorText, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, type pagingParameters } from './paging.ts';
import { PRINTABLE_ID } from './request-id.ts';
import { UUID_FORM } from './uuid.ts';

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

/** What an operation accepts: see the security schemes in docs/document.ts. */
export const API_KEY_ONLY = [{ apiKey: [] }];
export const API_KEY_OR_BEARER = [{ apiKey: [] }, { bearer: [] }];

/** The message of a 401 where only an API key is accepted. */
export const API_KEY_ADVICE = 'Send an API key in the x-api-key header.';

/** A UUID as a caller may write it. */
export const uuidParameter = z.string().length(36).regex(UUID_FORM).meta({ format: 'uuid' });

/** `limit` and `cursor` as a client writes them: see paging.ts. */
export const pagingQuery = {
  limit: z
    .int32()
    .min(1)
    .max(MAX_PAGE_SIZE)
    .default(DEFAULT_PAGE_SIZE)
    .meta({ description: 'Items a page.' }),
  cursor: cursorText.optional().meta({
    description:
      'The `next_cursor` of the page before, unchanged and with the same filters; `limit` may change. Leave it out for the first page.',
  }),
} satisfies Record<keyof typeof pagingParameters, z.ZodType>;

/** An error as an example shows it: the part that is this error's own. */
export type ErrorExample = {
  code: ErrorCode;
  message: string;
  param?: string;
  details?: readonly Problem[];
};

/** 400 for one bad field or parameter. */
export function invalidField(problem: Problem): ErrorExample {
  const message = `${problem.path}: ${problem.message}`;
  return { code: 'validation_error', message, param: problem.path, details: [problem] };
}

/** 400, as every list may answer it. */
export const invalidCursor: ErrorExample = {
  code: 'invalid_cursor',
  message: 'The cursor is not one that this list gave for these filters. Start again without it.',
  param: 'cursor',
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

/** 401, as every route that asks for credentials answers it; `advice` is its own message. */
export function unauthenticated(request: ExampleRequest, advice: string): ZodOpenApiResponseObject {
  return errorResponse(
    'No credentials were sent, or none that is valid here.',
    request,
    [
      { code: 'authentication_required', message: advice },
      { code: 'authentication_invalid', message: 'The credentials sent are not valid here.' },
    ],
    { 'WWW-Authenticate': challenge },
  );
}

/** 429 and 500, which any request may meet. */
export function anyTime(request: ExampleRequest) {
  return {
    429: errorResponse(
      'Too many requests from this address: wait for `Retry-After` seconds.',
      request,
      [
        {
          code: 'rate_limit_exceeded',
          message: 'More than 100 requests in 60 seconds. Retry in 42 s.',
        },
      ],
      { 'Retry-After': retryAfter },
    ),
    500: errorResponse('The service failed: retry with growing pauses.', request, [
      { code: 'internal_error', message: 'An unexpected error occurred. Retry with backoff.' },
    ]),
  } satisfies Record<number, ZodOpenApiResponseObject>;
}
