/**
 * The headers of every response: `X-Request-ID`, which ties a request to its answer and to its lines in
 * the log, and the security headers, since the answers are data and never a document to run.
 */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../config.ts';

const HEADER = 'X-Request-ID';
/** 1 to 200 printable ASCII characters; anything else could split a header or a log line. */
export const PRINTABLE_ID = /^[\x20-\x7e]{1,200}$/;

const assigned = new WeakMap<Request, string>();

/**
 * Returns the request's id: the client's `X-Request-ID` when acceptable, else a fresh `req_<random>`.
 * The id is stable for the life of the request, and needs no middleware.
 */
export function requestIdOf(c: Context): string {
  const known = assigned.get(c.req.raw);
  if (known !== undefined) return known;
  const sent = c.req.header(HEADER);
  const id =
    sent !== undefined && PRINTABLE_ID.test(sent)
      ? sent
      : `req_${crypto.randomUUID().replaceAll('-', '')}`;
  assigned.set(c.req.raw, id);
  return id;
}

/** Puts `X-Request-ID` on every response. */
export function requestId() {
  return createMiddleware<AppEnv>(async function requestId(c, next) {
    await next();
    c.res.headers.set(HEADER, requestIdOf(c));
  });
}

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
