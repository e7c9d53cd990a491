/** The response headers that several operations share, for the OpenAPI document. */

import * as z from 'zod';
import type { ApiError } from '../http/errors.ts';
import { WINDOW_SECONDS } from '../rate-limit/lease.ts';
import { requestIdText } from './error-resource.ts';

const header = (id: string, schema: z.ZodType, description: string) =>
  schema.meta({ description, header: { id } });

const count = z.int32().min(0);
const seconds = z.int32().min(0);

const requestId = header(
  'X-Request-ID',
  requestIdText,
  'Names this request: the `X-Request-ID` that the client sent, else `req_<random>`.',
);

const throttled = {
  'X-RateLimit-Limit': header(
    'X-RateLimit-Limit',
    count.optional(),
    `Requests that a window of ${WINDOW_SECONDS} seconds allows. Left out, with the other rate-limit headers, while the counter cannot be reached.`,
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
    'The limit and its window, as the IETF draft writes them: `"default";q=100;w=60`.',
  ),
  RateLimit: header(
    'RateLimit',
    z
      .string()
      .max(60)
      .regex(/^"(default|ingest)";r=\d+;t=\d+$/)
      .optional(),
    'The requests left and the seconds until the window ends, as the IETF draft writes them: `"default";r=99;t=60`.',
  ),
};

const timing = {
  'Server-Timing': header(
    'Server-Timing',
    z
      .string()
      .max(100)
      .regex(/^(counter;dur=\d+, )?(database;dur=\d+, )?total;dur=\d+$/)
      .optional(),
    'Milliseconds that the rate counter, the database and the whole request took. The clock of the service advances only while it waits for something.',
  ),
};

const security = {
  'X-Content-Type-Options': header(
    'X-Content-Type-Options',
    z.literal('nosniff'),
    'Browsers must not guess another content type.',
  ),
  'Strict-Transport-Security': header(
    'Strict-Transport-Security',
    z.literal('max-age=63072000; includeSubDomains'),
    'Browsers use only HTTPS for this host and its subdomains, for two years.',
  ),
  'Referrer-Policy': header(
    'Referrer-Policy',
    z.literal('no-referrer'),
    'Browsers send no referrer with links from this answer.',
  ),
  'Content-Security-Policy': header(
    'Content-Security-Policy',
    z.literal("default-src 'none'; frame-ancestors 'none'"),
    'The answer is data: browsers must not run or frame it.',
  ),
  'Cross-Origin-Resource-Policy': header(
    'Cross-Origin-Resource-Policy',
    z.literal('cross-origin'),
    'Pages of other origins may load the answer; CORS decides whether their scripts can read it.',
  ),
};

const crossOrigin = {
  'Access-Control-Allow-Origin': header(
    'Access-Control-Allow-Origin',
    z
      .string()
      .max(300)
      .regex(/^[!-~]+$/)
      .optional(),
    'The origin whose scripts may read the answer, if `CORS_ORIGINS` lists it.',
  ),
  'Access-Control-Expose-Headers': header(
    'Access-Control-Expose-Headers',
    z
      .string()
      .max(600)
      .regex(/^[\w-]+(, ?[\w-]+)*$/)
      .optional(),
    'The headers that scripts of this origin may read.',
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

/** The headers of every answer of every route. */
export const commonHeaders = {
  'X-Request-ID': requestId,
  ...throttled,
  ...timing,
  ...security,
  ...crossOrigin,
};

/** `Cache-Control` of errors, and of other answers that are not cached. */
export const noStore = header('No-Store', z.literal('no-store'), 'No cache may hold the answer.');

/** The headers of every error. */
export const errorHeaders = {
  ...commonHeaders,
  'Cache-Control': noStore,
  'X-Should-Retry': header(
    'X-Should-Retry',
    z.enum(['true', 'false']),
    'Whether the same request, sent again later, may succeed.',
  ),
};

/** The headers of single errors, beside the headers of every error. */
const headersOfSomeErrors: Readonly<Record<string, z.ZodType>> = {
  // RFC 9110 section 11.6.1
  'WWW-Authenticate': header(
    'WWW-Authenticate',
    z
      .string()
      .max(200)
      .regex(/^(Bearer|ApiKey) /),
    'The credentials that the route accepts, and the fault of the token if one was sent.',
  ),
  'Retry-After': header(
    'Retry-After',
    z.int32().min(1),
    'Seconds to wait before the request is sent again.',
  ),
};

/** `Retry-After` of a status that some errors have without it. */
const optionalRetryAfter = header(
  'Retry-After-At-Times',
  z.int32().min(1).optional(),
  'Seconds to wait before the request is sent again. Only on an error that the database caused.',
);

/** Returns the headers that some of the errors have, optional unless all of them have it. */
export function headersOfErrors(errors: readonly ApiError[]): Record<string, z.ZodType> {
  const names = new Set(errors.flatMap(({ headers }) => Object.keys(headers)));
  const sent = Object.entries(headersOfSomeErrors).filter(([name]) => names.has(name));
  const isAlwaysSent = (name: string) => errors.every(({ headers }) => name in headers);
  return Object.fromEntries(
    sent.map(([name, schema]) => [name, isAlwaysSent(name) ? schema : optionalRetryAfter]),
  );
}
