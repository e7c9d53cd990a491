/** CORS for the origins of `CORS_ORIGINS` (WHATWG Fetch, "CORS protocol"). */

import { cors as honoCors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { type Config, readConfig } from '../config.ts';

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
