/** Security headers: the answers are data, never a document to run. */

import { createMiddleware } from 'hono/factory';
import type { AppEnv } from './app-env.ts';

const HEADERS = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
});
const POLICY = 'Content-Security-Policy';

/** Sets the headers on every response. The policy that the documentation page brings along stays. */
export function securityHeaders() {
  return createMiddleware<AppEnv>(async function securityHeaders(c, next) {
    await next();
    const { headers } = c.res;
    for (const [name, value] of HEADERS) headers.set(name, value);
    if (!headers.has(POLICY)) headers.set(POLICY, "default-src 'none'; frame-ancestors 'none'");
  });
}
