/** Recognises requests to localhost, where `npm run dev` and `wrangler dev` serve. */

import type { Context } from 'hono';

/**
 * Matches the start of a localhost URL, which no request through Cloudflare has. The match ends with
 * the slash at which Hono's path begins, so that a malformed `Host` header, e.g.
 * `localhost#evil.example` or `evil.example@localhost`, does not pass for localhost.
 */
export const LOCALHOST_URL = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//i;

/**
 * Whether a request was sent to localhost, or comes from a loopback address. The address is checked
 * too, because plain `wrangler dev` replaces the host of every request with the host of a configured
 * route. Remote clients cannot forge the address, because Cloudflare overwrites the header.
 */
export function isFromLocalhost({ req }: Context): boolean {
  return LOCALHOST_URL.test(req.url) || /^(127\.|::1$)/.test(req.header('CF-Connecting-IP') ?? '');
}
