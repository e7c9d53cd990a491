/** The header `Cache-Status` (RFC 9211): which of the feed's caches gave an answer, the one nearest to D1 first. */

import type { Cached } from './cache.ts';

/** The part of a cache in an answer: it gave the answer, or it passed the request on because of what it has. */
export type CacheUse =
  | { kind: 'hit'; ttlSeconds: number }
  | { kind: 'forwarded'; because: 'miss' | 'stale' | 'bypass' };

/** Returns the use of a cache that did not give the answer. */
export function forwardedFor(cached: Cached | undefined): CacheUse {
  return { kind: 'forwarded', because: cached?.kind === 'expired' ? 'stale' : 'miss' };
}

/** Returns the header's value. `edge` is left out when the edge cache was not asked. */
export function cacheStatusOf(isolate: CacheUse, edge?: CacheUse): string {
  const own = `isolate; ${textOf(isolate)}`;
  return edge === undefined ? own : `edge; ${textOf(edge)}, ${own}`;
}

function textOf(use: CacheUse): string {
  return use.kind === 'hit' ? `hit; ttl=${use.ttlSeconds}` : `fwd=${use.because}`;
}
