/**
 * The feed's cache has two levels: this isolate's memory, then the edge cache of the data centre. An
 * answer is fresh for `FEED_CACHE_SECONDS` from its D1 read in both. A fault of the edge cache is
 * logged, and the request goes on without it.
 */

import type { Context } from 'hono';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { logFault } from '../http/log.ts';
import type { Answer } from './answer.ts';
import { edgeCacheAt } from './edge-cache.ts';
import type { MemoryCache } from './memory-cache.ts';

/** What the cache has under a key. */
export type Cached =
  | { kind: 'fresh'; answer: Answer }
  /** Stands in while D1 fails. */
  | { kind: 'expired'; answer: Answer }
  | { kind: 'absent' };

/** Both levels, for one request. */
export type FeedCache = {
  find(key: string): Promise<Cached>;
  put(key: string, answer: Answer): void;
  forget(key: string): void;
};

/** The cache while `FEED_CACHE_SECONDS` is 0. */
const NO_CACHE: FeedCache = {
  find: async () => ({ kind: 'absent' }),
  put: () => {},
  forget: () => {},
};

/** Returns the cache for one request. Writes to the edge cache go on after the response. */
export function feedCacheFor(c: Context<AppEnv>, memory: MemoryCache): FeedCache {
  const { feedCacheSeconds, feedStaleSeconds } = configOf(c.env);
  if (feedCacheSeconds === 0) return NO_CACHE;
  const edge = edgeCacheAt(c.req.url);
  const keptSeconds = Math.max(feedCacheSeconds, feedStaleSeconds);
  const now = Date.now();
  const isFresh = ({ readAt }: Answer) => now - readAt < feedCacheSeconds * 1_000;
  const logFailedWrite = (error: unknown) => logFault('the edge cache could not be written', error);

  return {
    async find(key) {
      const remembered = memory.find(key);
      if (remembered && isFresh(remembered)) return { kind: 'fresh', answer: remembered };

      const atEdge = await edge.find(key).catch((error: unknown) => {
        logFault('the edge cache could not be read', error);
        return undefined;
      });
      if (atEdge && isFresh(atEdge)) {
        memory.put(key, atEdge);
        return { kind: 'fresh', answer: atEdge };
      }

      const expired = newerOf(remembered, atEdge);
      return expired ? { kind: 'expired', answer: expired } : { kind: 'absent' };
    },
    put(key, answer) {
      memory.put(key, answer);
      c.executionCtx.waitUntil(edge.put(key, answer, keptSeconds).catch(logFailedWrite));
    },
    forget(key) {
      memory.forget(key);
      c.executionCtx.waitUntil(edge.forget(key).catch(logFailedWrite));
    },
  };
}

function newerOf(a: Answer | undefined, b: Answer | undefined): Answer | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.readAt > b.readAt ? a : b;
}
