/**
 * The headers of any response: `X-Request-ID`, security headers for data that is never a document
 * to run, CORS for the origins of `CORS_ORIGINS` (WHATWG Fetch, "CORS protocol"), and conditional
 * requests.
 */

import type { Context } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';
import { type AppEnv, type Config, readConfig } from '../config.ts';

const REQUEST_ID = 'X-Request-ID';
const POLICY = 'Content-Security-Policy';
const SECURITY_HEADERS = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
});

/** A development page keeps its own Content-Security-Policy. */
export function responseHeaders() {
  return createMiddleware<AppEnv>(async function responseHeaders(c, next) {
    await next();
    const { headers } = c.res;
    headers.set(REQUEST_ID, resolveRequestId(c));
    for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
    if (!headers.has(POLICY)) headers.set(POLICY, "default-src 'none'; frame-ancestors 'none'");
  });
}

/** Can be sent back unchanged: the runtime replaces bytes that are not UTF-8 by U+FFFD. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it excludes them, as a field value does.
const REPEATABLE_ID = /^[^\x00-\x08\x0a-\x1f\x7f\ufffd]{1,200}$/u;

const assigned = new WeakMap<Request, string>();

/** Returns the client's `X-Request-ID` when it can be sent back, else `req_<random>`. */
export function resolveRequestId(c: Context): string {
  const known = assigned.get(c.req.raw);
  if (known !== undefined) return known;
  const sent = c.req.header(REQUEST_ID);
  const id =
    sent !== undefined && REPEATABLE_ID.test(sent)
      ? sent
      : `req_${crypto.randomUUID().replaceAll('-', '')}`;
  assigned.set(c.req.raw, id);
  return id;
}

/** Makes a 304 if `If-None-Match` has the `ETag`, else a 200. */
export function conditionalResponse(c: Context, body: Blob, headers: Headers): Response {
  const sent = c.req.header('If-None-Match');
  const isUnchanged = sent !== undefined && namesTag(sent, headers.get('ETag') ?? '');
  return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : 200, headers });
}

/**
 * A proxy that compresses marks the tag `W/`, or adds a suffix: `"…-gzip"` (Apache), `"…;gzip"`,
 * `"…-br"`. Compare weakly (RFC 9110 section 13.1.2), without the suffix.
 */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => {
    const own = tag.trim().replace(/^W\//, '');
    return own.replace(/[-;](gzip|br)"$/, '"') === etag;
  });
}

const EXPOSED_HEADERS = [
  'Age',
  'Allow',
  'Cache-Status',
  'ETag',
  'Idempotent-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Server-Timing',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-ID',
  'X-Should-Retry',
];
const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/** A site under development has its own port. */
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Responds to preflights, and sets the headers of CORS on other responses. An OPTIONS without
 * `Access-Control-Request-Method` is no preflight: its route responds with 405. Hono's middleware
 * takes each OPTIONS for a preflight, and grants every header that a preflight asks for: libraries
 * for monitoring and caching add their own, and the origin is the control.
 */
export function cors() {
  const handle = honoCors({
    origin: (origin, c) => allowedOrigin(origin, readConfig(c.env)),
    allowMethods: ['GET', 'HEAD', 'POST'],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
  return createMiddleware<AppEnv>(async function cors(c, next) {
    const config = readConfig(c.env);
    const origin = c.req.header('Origin');
    const allowed = origin === undefined ? null : allowedOrigin(origin, config);
    const isOptions = c.req.method === 'OPTIONS';
    const isPreflight = isOptions && c.req.header('Access-Control-Request-Method') !== undefined;
    const isPlainOptions = isOptions && !isPreflight;
    if (isPreflight && allowed === null) c.set('rejectedOrigin', origin?.slice(0, 100));
    if (config.corsOrigins.length === 0 && !config.isDevelopment) return next();
    if (origin !== undefined && !isPlainOptions) return handle(c, next);
    // No Origin, or an OPTIONS that is no preflight.
    await next();
    c.res.headers.append('Vary', 'Origin');
    if (allowed === null) return undefined;
    c.res.headers.set('Access-Control-Allow-Origin', allowed);
    c.res.headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS.join(','));
    return undefined;
  });
}

/** For `Access-Control-Allow-Origin`. */
function allowedOrigin(origin: string, { corsOrigins, isDevelopment }: Config): string | null {
  if (corsOrigins.includes('*')) return '*';
  const isLocal = isDevelopment && LOCAL_ORIGIN.test(origin);
  return isLocal || corsOrigins.includes(origin) ? origin : null;
}
