/** The response headers in the OpenAPI document that two or more operations share. */

import * as z from 'zod';
import type { ERROR_CODES, ErrorCode } from '../http/errors.ts';
import { patternText, requestIdText } from './error-resource.ts';

/** `id` names the header's component in the document. The default is the name of the header. */
type Header = readonly [schema: z.ZodType, description: string, id?: string];

export function describeHeaders(
  headers: Readonly<Record<string, Header>>,
): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, [schema, description, id = name]]) => [
      name,
      schema.meta({ description, header: { id } }),
    ]),
  );
}

const count = z.int32().min(0).optional();

/** Describes the headers that clients read in every response. The document's introduction names the others. */
export function describeCommonHeaders(windowSeconds: number): Record<string, z.ZodType> {
  return describeHeaders({
    'X-Request-ID': [
      requestIdText,
      'The id of this request: the `X-Request-ID` that the client sent, or `req_<random>`.',
    ],
    'X-RateLimit-Limit': [count, `Requests that a window of ${windowSeconds} seconds allows.`],
    'X-RateLimit-Remaining': [count, 'Requests left in the window, which is rolling.'],
    'X-RateLimit-Reset': [
      count,
      'Seconds until more requests remain, not all of them. While none remain, it equals `Retry-After`.',
    ],
    'RateLimit-Policy': [
      patternText(/^"[a-z0-9-]+";q=\d+;w=\d+$/, 80).optional(),
      `The limit and its window, in the form of the IETF draft: \`"default";q=100;w=${windowSeconds}\`. A key with its own limit is named instead of \`default\`.`,
    ],
    RateLimit: [
      patternText(/^"[a-z0-9-]+";r=\d+;t=\d+$/, 80).optional(),
      'The requests left and the seconds until more remain, in the form of the IETF draft: `"default";r=99;t=60`.',
    ],
  });
}

const retryAfter = describeHeaders({
  'Retry-After': [
    z.int32().min(1).optional(),
    'Seconds to wait before the next request: on a 429, and on a 500 or 503 that the database caused.',
  ],
});

const shouldRetry = describeHeaders({
  'X-Should-Retry': [
    z.enum(['true', 'false']),
    'Whether the same request, sent again later, may succeed.',
  ],
});

export const cacheStatus = describeHeaders({
  'Cache-Status': [
    patternText(
      /^(edge; (hit; ttl=-?\d+(; detail=[a-z]+)?|fwd=[a-z]+), )?isolate; (hit; ttl=-?\d+(; detail=[a-z]+)?|fwd=[a-z]+)$/,
      60,
    ).optional(),
    'The cache of the service that the response comes from, and the seconds for which the response stays fresh. They are negative for a stale response (RFC 9211).',
  ],
});

const challenge = patternText(/^(Bearer|ApiKey) /, 200);
const CHALLENGE =
  'The credentials that the operation accepts. For a rejected token, also why it was rejected.';

/** Headers that only errors with these statuses have. */
const HEADERS_BY_STATUS: Readonly<Record<number, Record<string, z.ZodType>>> = {
  // RFC 9110 section 11.6.1
  401: describeHeaders({ 'WWW-Authenticate': [challenge, CHALLENGE] }),
  403: describeHeaders({ 'WWW-Authenticate': [challenge.optional(), CHALLENGE, 'Challenge'] }),
  404: cacheStatus,
  415: describeHeaders({
    'Accept-Encoding': [
      z.literal('identity').optional(),
      'Only if the body was sent with a content coding: send it without one.',
    ],
  }),
  429: retryAfter,
  500: retryAfter,
  503: retryAfter,
};

type ErrorStatus = (typeof ERROR_CODES)[ErrorCode]['status'];

/** Returns the headers of an error, without the common headers. */
export function getErrorHeaders(status: ErrorStatus): Record<string, z.ZodType> {
  return { ...shouldRetry, ...HEADERS_BY_STATUS[status] };
}
