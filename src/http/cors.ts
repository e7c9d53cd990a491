/** Cross-origin access for the origins of `CORS_ORIGINS` (WHATWG Fetch, "CORS protocol"). */

import type { HonoRequest } from 'hono';
import { cors as honoCors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from './app-env.ts';

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
  'ETag',
  'Idempotent-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-ID',
  'X-Should-Retry',
];
const PREFLIGHT_MAX_AGE_SECONDS = 86_400;

/**
 * Answers preflights and marks responses. A bare OPTIONS is no preflight: it goes on to its route,
 * and a known path answers it with 405.
 */
export function cors() {
  const handle = honoCors({
    origin: (origin, c) => {
      const { corsOrigins } = configOf(c.env);
      if (corsOrigins.includes('*')) return '*';
      return corsOrigins.includes(origin) ? origin : null;
    },
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: REQUEST_HEADERS,
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
  return createMiddleware<AppEnv>(async function cors(c, next) {
    if (configOf(c.env).corsOrigins.length === 0) return next();
    if (c.req.header('Origin') === undefined || isBareOptions(c.req)) {
      await next();
      c.res.headers.append('Vary', 'Origin');
      return undefined;
    }
    return handle(c, next);
  });
}

/** Tells an OPTIONS of RFC 9110 section 9.3.7 from a browser's preflight. */
function isBareOptions(request: HonoRequest): boolean {
  return (
    request.method === 'OPTIONS' && request.header('Access-Control-Request-Method') === undefined
  );
}
