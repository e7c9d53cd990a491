/**
 * Sets the headers of every response, including errors: `X-Request-ID`, security headers that stop
 * browsers from running or embedding a response, and CORS headers for the origins in `CORS_ORIGINS`
 * (WHATWG Fetch, "CORS protocol").
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { type Config, readConfig } from '../config.ts';
import { renderThrown } from './render-error.ts';
import { REQUEST_ID, resolveRequestId } from './request-id.ts';

const CSP_HEADER = 'Content-Security-Policy';
const SECURITY_HEADERS = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
});

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
].join(',');
const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/** Matches a localhost origin with any port, because each site under development has its own port. */
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Sets the headers of every response, and responds to preflights. Renders thrown values that are not an
 * `Error`, because Hono does not pass them to `app.onError`. Development pages keep their own
 * Content-Security-Policy.
 */
export function responseHeaders() {
  return createMiddleware<AppEnv>(async function responseHeaders(c, next) {
    const config = readConfig(c.env);
    const origin = c.req.header('Origin');
    const allowed = origin === undefined ? null : findAllowedOrigin(origin, config);
    const hasCors = config.corsOrigins.length > 0 || config.isDevelopment;
    // An OPTIONS without this header is not a preflight, so its route responds with 405.
    const isPreflight =
      c.req.method === 'OPTIONS' && c.req.header('Access-Control-Request-Method') !== undefined;
    if (isPreflight && allowed === null) c.set('rejectedOrigin', origin?.slice(0, 100));
    if (isPreflight && hasCors && origin !== undefined) c.res = new Response(null, { status: 204 });
    else {
      await next().catch((thrown) => {
        c.res = renderThrown(thrown, c);
      });
    }
    const { headers } = c.res;
    headers.set(REQUEST_ID, resolveRequestId(c));
    for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
    if (!headers.has(CSP_HEADER)) {
      headers.set(CSP_HEADER, "default-src 'none'; frame-ancestors 'none'");
    }
    if (hasCors) headers.append('Vary', 'Origin');
    if (allowed === null) return;
    headers.set('Access-Control-Allow-Origin', allowed);
    headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    if (isPreflight) grantPreflight(c);
  });
}

/** Returns the value of `Access-Control-Allow-Origin`; null if the origin is not allowed. */
function findAllowedOrigin(origin: string, { corsOrigins, isDevelopment }: Config): string | null {
  if (corsOrigins.includes('*')) return '*';
  const isLocal = isDevelopment && LOCAL_ORIGIN.test(origin);
  return isLocal || corsOrigins.includes(origin) ? origin : null;
}

/**
 * Allows every header that the preflight requests, because monitoring and caching libraries add headers
 * of their own. Access depends on the origin, not on the headers.
 */
function grantPreflight({ req, res: { headers } }: Context): void {
  const requested = req.header('Access-Control-Request-Headers');
  headers.append('Vary', 'Access-Control-Request-Headers');
  headers.set('Access-Control-Allow-Methods', 'GET,HEAD,POST');
  if (requested) headers.set('Access-Control-Allow-Headers', requested);
  headers.set('Access-Control-Max-Age', String(PREFLIGHT_MAX_AGE_SECONDS));
}
