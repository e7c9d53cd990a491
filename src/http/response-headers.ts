/** The headers of every response: `X-Request-ID`, and security headers for data that is never run. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { REQUEST_ID, resolveRequestId } from './request-id.ts';

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
