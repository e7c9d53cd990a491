/**
 * The headers of every response: `X-Request-ID`, which the log has too, and the security headers, because a response is
 * data and never a document to run.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../config.ts';

const REQUEST_ID = 'X-Request-ID';
const POLICY = 'Content-Security-Policy';
const SECURITY_HEADERS = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'cross-origin',
});

/** Sets the headers on every response. A development page keeps its own Content-Security-Policy. */
export function responseHeaders() {
  return createMiddleware<AppEnv>(async function responseHeaders(c, next) {
    await next();
    const { headers } = c.res;
    headers.set(REQUEST_ID, requestIdOf(c));
    for (const [name, value] of SECURITY_HEADERS) headers.set(name, value);
    if (!headers.has(POLICY)) headers.set(POLICY, "default-src 'none'; frame-ancestors 'none'");
  });
}

/**
 * A request id that can be sent back unchanged: 1 to 200 characters of a field value (RFC 9110 section 5.5). The runtime
 * reads a value as UTF-8, and replaces other bytes by U+FFFD.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it excludes them, as a field value does.
const REPEATABLE_ID = /^[^\x00-\x08\x0a-\x1f\x7f\ufffd]{1,200}$/u;

const assigned = new WeakMap<Request, string>();

/** Returns the request's id: the client's `X-Request-ID` when it can be sent back, else `req_<random>`. */
export function requestIdOf(c: Context): string {
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
