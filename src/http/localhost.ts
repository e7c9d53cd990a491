/** Recognises requests to localhost, where `npm run dev` and `wrangler dev` serve. */

import type { Context } from 'hono';

/**
 * Matches the start of a URL on localhost, to which Cloudflare routes no request. It matches up to
 * the slash at which Hono's path begins, because the `Host` header may be malformed, e.g.
 * `localhost#evil.example` or `evil.example@localhost`.
 */
export const LOCALHOST_URL = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//i;

/**
 * Whether a request is sent to localhost, or comes from a loopback address. The address is checked
 * because plain `wrangler dev` replaces the host of every request with the host of a configured
 * route. Cloudflare overwrites the header, so no remote client can send such an address.
 */
export function isFromLocalhost({ req }: Context): boolean {
  return LOCALHOST_URL.test(req.url) || /^(127\.|::1$)/.test(req.header('CF-Connecting-IP') ?? '');
}
