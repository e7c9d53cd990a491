/** Tells a developer who serves a working copy by wrangler alone what it still needs. */

import type { Context } from 'hono';
import type { ApiError } from './errors.ts';

const LOCAL_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const HINT = ' This working copy is not set up: run `npm run dev` once.';

/**
 * Returns the end of the message: empty for a service that is set up, and for every deployed one, as
 * Cloudflare routes no request to a local host's name. Set up means: there is an `API_KEY`, and the tables
 * exist.
 */
export function setupHint(c: Context, error: ApiError): string {
  const host = URL.parse(c.req.url)?.hostname ?? '';
  if (!LOCAL_HOSTS.includes(host)) return '';
  const { API_KEY } = (c.env ?? {}) as { API_KEY?: unknown };
  return API_KEY === undefined || isMissingTable(error) ? HINT : '';
}

function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /no such table/i.test(error.message) || isMissingTable(error.cause);
}
