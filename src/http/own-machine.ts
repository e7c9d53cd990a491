/** Requests to the machine itself: of developers, and of `wrangler dev` in a new working copy. */

import type { Context } from 'hono';
import type { ApiError } from './errors.ts';

/** Cloudflare routes no request to these names. */
export function isOwnMachine(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/**
 * Also by the client's address: plain `wrangler dev` takes the host of a configured route for the
 * host of every request. Cloudflare overwrites the header, and no client has such an address.
 */
export function isFromOwnMachine({ req }: Context): boolean {
  const hostname = URL.parse(req.url)?.hostname ?? '';
  return isOwnMachine(hostname) || /^(127\.|::1$)/.test(req.header('CF-Connecting-IP') ?? '');
}

const SET_UP_HINT = ' This working copy is not set up: run `npm run dev` once.';

/**
 * Returns the advice to set up the working copy, or an empty text. A working copy that is set up has
 * an `API_KEY`, and its database the tables.
 */
export function findSetUpHint(error: ApiError, c: Context): string {
  if (error.status !== 401 && error.status !== 500) return '';
  if (!isFromOwnMachine(c)) return '';
  const { API_KEY } = (c.env ?? {}) as { API_KEY?: unknown };
  return API_KEY === undefined || lacksTables(error) ? SET_UP_HINT : '';
}

function lacksTables(error: unknown): boolean {
  return (
    error instanceof Error && (/no such table/i.test(error.message) || lacksTables(error.cause))
  );
}
