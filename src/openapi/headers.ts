/** The response headers that several operations share in the OpenAPI document. */

import * as z from 'zod';
import type { ERROR_CODES, ErrorCode } from '../http/errors.ts';
import { WINDOW_SECONDS } from '../rate-limit/counter-arithmetic.ts';
import { patternText, requestIdText } from './error-resource.ts';

/** `id` names its component in the document; by default the header's name. */
type Header = readonly [schema: z.ZodType, description: string, id?: string];

export function headersOf(headers: Readonly<Record<string, Header>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, [schema, description, id = name]]) => [
      name,
      schema.meta({ description, header: { id } }),
    ]),
  );
}

const count = z.int32().min(0).optional();

/** The headers of every response that clients read. The introduction names the others. */
export const commonHeaders = headersOf({
  'X-Request-ID': [
    requestIdText,
    'Names this request: the `X-Request-ID` that the client sent, else `req_<random>`.',
  ],
  'X-RateLimit-Limit': [count, `Requests that a window of ${WINDOW_SECONDS} seconds allows.`],
  'X-RateLimit-Remaining': [count, 'Requests left in the window, which is rolling.'],
  'X-RateLimit-Reset': [
    count,
    'Seconds until more requests remain, not all of them. While none remain, it equals `Retry-After`.',
  ],
  'RateLimit-Policy': [
    patternText(/^"[a-z0-9-]+";q=\d+;w=\d+$/, 80).optional(),
    `The limit and its window, as the IETF draft writes them: \`"default";q=100;w=${WINDOW_SECONDS}\`. A key with a limit of its own is named in place of \`default\`.`,
  ],
  RateLimit: [
    patternText(/^"[a-z0-9-]+";r=\d+;t=\d+$/, 80).optional(),
    'The requests left and the seconds until more remain, as the IETF draft writes them: `"default";r=99;t=60`.',
  ],
});

const retryAfter = headersOf({
  'Retry-After': [
    z.int32().min(1).optional(),
    'Seconds to wait before the next request: on a 429, and on a 500 or 503 that the database caused.',
  ],
});

const errorHeaders = {
  ...commonHeaders,
  ...headersOf({
    'X-Should-Retry': [
      z.enum(['true', 'false']),
      'Whether the same request, sent again later, may succeed.',
    ],
  }),
};

export const cacheStatus = headersOf({
  'Cache-Status': [
    patternText(
      /^(edge; (hit; ttl=-?\d+(; detail=[a-z]+)?|fwd=[a-z]+), )?isolate; (hit; ttl=-?\d+(; detail=[a-z]+)?|fwd=[a-z]+)$/,
      60,
    ).optional(),
    'The cache of the service that the response is from, and the seconds for which the response stays fresh, negative for an older response (RFC 9211).',
  ],
});

const challenge = patternText(/^(Bearer|ApiKey) /, 200);
const CHALLENGE =
  'The credentials that the route accepts, and the fault of the token if one was sent.';

/** The headers that the errors of some statuses have. */
const OF_STATUS: Readonly<Record<number, Record<string, z.ZodType>>> = {
  // RFC 9110 section 11.6.1
  401: headersOf({ 'WWW-Authenticate': [challenge, CHALLENGE] }),
  403: headersOf({ 'WWW-Authenticate': [challenge.optional(), CHALLENGE, 'Challenge'] }),
  404: cacheStatus,
  415: headersOf({
    'Accept-Encoding': [
      z.literal('identity').optional(),
      'On an error that a content coding caused: the body must have none.',
    ],
  }),
  429: retryAfter,
  500: retryAfter,
  503: retryAfter,
};

type ErrorStatus = (typeof ERROR_CODES)[ErrorCode]['status'];

export function errorHeadersOf(status: ErrorStatus): Record<string, z.ZodType> {
  return { ...errorHeaders, ...OF_STATUS[status] };
}
