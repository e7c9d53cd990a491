/** Cross-origin access for the origins of `CORS_ORIGINS` (WHATWG Fetch, "CORS protocol"). */

import { cors as honoCors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';
import { type AppEnv, configOf } from '../config.ts';

const REQUEST_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'X-API-Key',
  'X-Request-ID',
];
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

/**
 * Responds to preflights, and sets the headers of CORS on other responses. An OPTIONS without
 * `Access-Control-Request-Method` is no preflight: its route responds with 405.
 */
export function cors() {
  const handle = honoCors({
    origin: (origin, c) => allowedOrigin(origin, configOf(c.env).corsOrigins),
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: REQUEST_HEADERS,
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
  return createMiddleware<AppEnv>(async function cors(c, next) {
    const { corsOrigins } = configOf(c.env);
    if (corsOrigins.length === 0) return next();
    const origin = c.req.header('Origin');
    const isPreflight = c.req.header('Access-Control-Request-Method') !== undefined;
    const isCors = c.req.method !== 'OPTIONS' || isPreflight;
    if (origin !== undefined && isCors) return handle(c, next);
    await next();
    c.res.headers.append('Vary', 'Origin');
    const allowed = origin === undefined ? null : allowedOrigin(origin, corsOrigins);
    if (allowed === null) return undefined;
    c.res.headers.set('Access-Control-Allow-Origin', allowed);
    c.res.headers.set('Access-Control-Expose-Headers', EXPOSED_HEADERS.join(','));
    return undefined;
  });
}

/** Returns the value of `Access-Control-Allow-Origin`; null for an origin that is not listed. */
function allowedOrigin(origin: string, listed: readonly string[]): string | null {
  if (listed.includes('*')) return '*';
  return listed.includes(origin) ? origin : null;
}
