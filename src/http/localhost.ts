/** Requests to the machine itself: of developers, and of `wrangler dev` in a new working copy. */

import type { Context } from 'hono';

/**
 * The start of a URL at the machine itself, to which Cloudflare routes no request. Its text is
 * compared, up to the slash at which Hono's path begins: the `Host` header may be no host, e.g.
 * `localhost#evil.example` or `evil.example@localhost`.
 */
export const OWN_MACHINE = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//i;

/**
 * Also by the client's address: plain `wrangler dev` takes the host of a configured route for the
 * host of every request. Cloudflare overwrites the header, and no client has such an address.
 */
export function isFromOwnMachine({ req }: Context): boolean {
  return OWN_MACHINE.test(req.url) || /^(127\.|::1$)/.test(req.header('CF-Connecting-IP') ?? '');
}
