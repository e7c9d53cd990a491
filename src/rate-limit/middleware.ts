/** The rate limit of all of /api, its headers and its 429. Counting comes before the work. */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { LRUCache } from 'lru-cache';
import * as z from 'zod';
import { type AppEnv, readConfig } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { renderError } from '../http/render-error.ts';
import { ClientWindow } from './client-window.ts';
import { WINDOW_SECONDS } from './window.ts';

/** More clients than one isolate serves in a window. */
const MAX_CLIENTS = 10_000;
/** `Retry-After` of a client that overloads its own object. */
const OVERLOADED_RESET_SECONDS = 1;

type Options = {
  /** A POST to one of these counts as `ingest`, all else as `default`. */
  ingestPaths: readonly string[];
  /** Finds the limit that a valid key has of its own. */
  findOwnLimit: (c: Context<AppEnv>) => Promise<{ name: string; limit: number } | undefined>;
};

/**
 * Rejects with 429 `rate_limit_exceeded`. Sets two families of headers: `X-RateLimit-*`, and those
 * of draft-ietf-httpapi-ratelimit-headers-10. A key with a limit of its own has one counter for all
 * routes; all other requests are counted by address.
 */
export function rateLimit({ ingestPaths, findOwnLimit }: Options) {
  // With `max`, the cache would allocate the place of every client at the start of the isolate.
  const windows = new LRUCache<string, ClientWindow>({ maxSize: MAX_CLIENTS });
  return createMiddleware<AppEnv>(async function rateLimit(c, next) {
    const { method, path } = c.req;
    if (path !== '/api' && !path.startsWith('/api/')) return next();
    const { rateLimits, hasOwnLimits } = readConfig(c.env);
    const own = hasOwnLimits ? await findOwnLimit(c) : undefined;
    const isIngest = method === 'POST' && ingestPaths.includes(path) && own === undefined;
    const counter = isIngest ? 'ingest' : 'default';
    const limit = own?.limit ?? rateLimits[counter];
    const address = c.req.header('CF-Connecting-IP');
    const client = own ? `key ${own.name}` : resolveClient(address, c.req.header('CF-Worker'));
    if (client === UNKNOWN) {
      setLogFields({ client_fault: address === undefined ? 'no address' : 'malformed address' });
    }
    c.set('client', client);
    if (own) c.set('caller', own.name);
    const key = `${counter} ${client}`;
    const now = Date.now();
    let window = windows.get(key);
    if (window === undefined || window.hasEnded(now)) {
      const quota = { client, isKey: own !== undefined, counter, limit } as const;
      window = new ClientWindow(quota, now, window);
      windows.set(key, window, { size: 1 });
    }
    // Feed read, 1; ingest, 1.
    const verdict = await window.admit(c, now);
    if (verdict === 'passed') {
      await next();
    } else if (verdict === 'rejected') {
      c.res = renderError(rateLimitExceeded(window.stateAt(now).resetSeconds, limit), c);
    } else {
      c.res = renderError(rateLimitExceeded(OVERLOADED_RESET_SECONDS), c);
    }

    // Feed read, 8. A waiting request may have outlived its window.
    const { remaining, resetSeconds } = (windows.get(key) ?? window).stateAt(Date.now());
    const { headers } = c.res;
    headers.set('X-RateLimit-Limit', String(limit));
    headers.set('X-RateLimit-Remaining', String(remaining));
    headers.set('X-RateLimit-Reset', String(resetSeconds));
    const policy = own?.name ?? counter;
    headers.set('RateLimit-Policy', `"${policy}";q=${limit};w=${WINDOW_SECONDS}`);
    headers.set('RateLimit', `"${policy}";r=${remaining};t=${resetSeconds}`);
    return undefined;
  });
}

/** 429 `rate_limit_exceeded`. Without `limit`, requests come too fast to be counted. */
export function rateLimitExceeded(retryAfterSeconds: number, limit?: number): ApiError {
  const excess =
    limit === undefined
      ? 'Too many requests at once.'
      : `More than ${limit} requests in ${WINDOW_SECONDS} seconds.`;
  return new ApiError('rate_limit_exceeded', `${excess} Retry in ${retryAfterSeconds} s.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

/** Requests of other zones' Workers all come from this network. `CF-Worker` names the zone. */
const OTHER_ZONES_WORKERS = '2a06:98c0:3600:0::/64';
const UNKNOWN = 'unknown';

const IPV6_CHARACTERS = /^[\da-f:.]{2,45}$/i;
const MAX_ZONE_CHARACTERS = 255;

/**
 * Names the client by `CF-Connecting-IP`: a client can forge `X-Forwarded-For`. Returns an IPv4
 * address, an IPv6 /64 (one subscriber), `worker ZONE`, or `unknown`.
 */
export function resolveClient(
  connectingIp: string | undefined,
  worker: string | undefined,
): string {
  if (connectingIp === undefined) return UNKNOWN;
  if (z.regexes.ipv4.test(connectingIp)) return connectingIp;
  const network = parseNetwork(connectingIp);
  if (network !== OTHER_ZONES_WORKERS || worker === undefined) return network ?? UNKNOWN;
  return `worker ${worker.slice(0, MAX_ZONE_CHARACTERS).toLowerCase()}`;
}

/** Returns the /64 of an IPv6 address; the IPv4 address in one (RFC 4291 section 2.5.5.2). */
function parseNetwork(address: string): string | undefined {
  const url = IPV6_CHARACTERS.test(address) ? URL.parse(`http://[${address}]`) : null;
  if (url === null) return undefined;
  // E.g. `[2001:db8::1]`: the URL parser writes each group in its shortest form.
  const halves = url.hostname.slice(1, -1).split('::');
  const [before = [], after = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  const groups = [...before, ...zeros, ...after];
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
