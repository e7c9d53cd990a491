/**
 * The feed's cache has two levels: this isolate's memory, then the edge cache of the data centre. An
 * answer is fresh for `FEED_CACHE_SECONDS` from its D1 read in both. A fault of the edge cache is
 * logged, and the request goes on without it.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { logFault } from '../http/log.ts';
import type { Answer } from './answer.ts';
import { edgeCacheAt } from './edge-cache.ts';
import type { MemoryCache } from './memory-cache.ts';

/** An answer is renewed in the background when this part of its time is over. */
const RENEWAL_PART = 3 / 4;

/** The state of a level under a key. */
export type Cached =
  | { kind: 'fresh'; answer: Answer }
  /** Stands in while D1 fails. */
  | { kind: 'expired'; answer: Answer }
  | { kind: 'absent' };

/** Both levels, for one request. */
export type FeedCache = {
  findInMemory(key: string): Cached;
  /**
   * Never rejects, and takes about a second at most. An answer that is found goes into memory, unless
   * something was forgotten meanwhile: it may have been this answer.
   */
  findAtEdge(key: string): Promise<Cached>;
  put(key: string, answer: Answer): void;
  forget(key: string): void;
  /** Returns the whole seconds for which an answer is fresh still. */
  ttlOf(answer: Answer): number;
  isDueForRenewal(answer: Answer): boolean;
  /** Reports whether an answer is young enough to stand in while D1 fails: see `FEED_STALE_SECONDS`. */
  mayStandIn(answer: Answer): boolean;
};

/** Returns the cache for one request, undefined while it is off. Writes to the edge cache go on after the response. */
export function feedCacheFor(c: Context<AppEnv>, memory: MemoryCache): FeedCache | undefined {
  const { feedCacheSeconds, feedStaleSeconds } = configOf(c.env);
  if (feedCacheSeconds === 0) return undefined;
  const edge = edgeCacheAt(c.req.url);
  const lifetimeMs = feedCacheSeconds * 1_000;
  const cachedSeconds = Math.max(feedCacheSeconds, feedStaleSeconds);
  const ageOf = ({ readAt }: Answer) => Date.now() - readAt;
  const cachedOf = (answer: Answer | undefined): Cached => {
    if (answer === undefined) return { kind: 'absent' };
    return { kind: ageOf(answer) < lifetimeMs ? 'fresh' : 'expired', answer };
  };
  const remember = (key: string, answer: Answer) => {
    // Reads of D1 may overtake each other.
    if (answer.readAt >= (memory.find(key)?.readAt ?? 0)) memory.put(key, answer);
  };
  const logFailedWrite = (error: unknown) => logFault('the edge cache could not be written', error);

  return {
    findInMemory: (key) => cachedOf(memory.find(key)),
    async findAtEdge(key) {
      const forgotten = memory.timesForgotten();
      try {
        const found = await edge.find(key);
        if (found !== undefined && memory.timesForgotten() === forgotten) remember(key, found);
        return cachedOf(found);
      } catch (error) {
        logFault('the edge cache could not be read', error);
        return { kind: 'absent' };
      }
    },
    put(key, answer) {
      remember(key, answer);
      c.executionCtx.waitUntil(edge.put(key, answer, cachedSeconds).catch(logFailedWrite));
    },
    forget(key) {
      memory.forget(key);
      c.executionCtx.waitUntil(edge.forget(key).catch(logFailedWrite));
    },
    ttlOf: (answer) => Math.floor((lifetimeMs - ageOf(answer)) / 1_000),
    isDueForRenewal: (answer) => ageOf(answer) >= lifetimeMs * RENEWAL_PART,
    mayStandIn: (answer) => feedStaleSeconds > 0 && ageOf(answer) <= feedStaleSeconds * 1_000,
  };
}
