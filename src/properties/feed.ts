/**
 * Serves the feed from a cache or from D1, which may be slow or failed:
 *
 *     0 ms      memory: current → serve it, and renew a check that is due in the background
 *               edge cache: the same, and keep the response in memory
 *     20 ms     D1 failed or stalled in the last 5 s → serve a stale response
 *               otherwise read D1 (the edge cache may still respond)
 *     300 ms    D1 is slow → a response stale for at most five minutes;
 *               any stale one if D1 failed in the last minute
 *     2 s       D1 has stalled, which counts as failed → any stale response
 *     5 s       500
 *     any time  D1 responds → serve it, and cache it in both levels
 *               D1 fails → any stale response, else 500
 *
 * At each time memory comes first. Times from 300 ms on count from the start of the read. versions.ts
 * says when a response is stale: for at most `FEED_STALE_SECONDS`.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { conditionalResponse } from '../http/conditional-response.ts';
import { internalError } from '../http/errors.ts';
import { logFault, setLogFields } from '../http/log.ts';
import { deploymentId } from '../release.ts';
import { type CachedResponse, FeedCache, type FeedResponse, makeResponse } from './cache.ts';
import { inLanguages } from './locale-map.ts';
import { type FeedReader, noSuchProperty, readVersion } from './store.ts';

const EDGE_HEAD_START_MS = 20;
const D1_HEAD_START_MS = 300;
/** A read that takes longer counts as a fault: D1 may stall for more than a minute. */
const STALL_MS = 2_000;
/** Of the whole read, with a repeat at the primary. */
const READ_DEADLINE_MS = 5_000;
const RETRY_SECONDS = 2;
/** After a fault, D1 counts as failed without a read. */
const FAULT_PAUSE_MS = 5_000;
/** After a fault, D1 counts as failed if a read is slow. */
const RECENT_FAULT_MS = 60_000;
/** How stale a response may be while D1 is slow. */
const SLOW_GRACE_MS = 300_000;
/** After this time, another request renews the check. */
const RENEWAL_RETRY_MS = 6_000;

type FeedOptions = {
  /** Undefined for all languages. */
  locale?: readonly string[] | undefined;
  /** Reads the primary, past the cache. */
  fresh?: boolean | undefined;
};

type FeedCall = FeedOptions & {
  c: Context<AppEnv>;
  reader: FeedReader<unknown>;
  query: unknown;
  cache: FeedCache;
  key: string;
};

/** Why a stale response may be served; undefined: none may. */
type StaleReason = 'slow' | 'failed' | undefined;

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
  /** Of the check of a stale response. */
  ageMs?: number;
};

/** One for each isolate. */
export class Feed {
  #cache: FeedCache | undefined;
  #renewalAt = Number.NEGATIVE_INFINITY;
  /** D1's last failure or stall. */
  #faultAt = Number.NEGATIVE_INFINITY;
  #faultLoggedAt = Number.NEGATIVE_INFINITY;

  /** Responds with 200 or 304. Throws the 404 of a missing listing, and D1's error. */
  async respond<Query>(
    c: Context<AppEnv>,
    reader: FeedReader<Query>,
    query: Query,
    { locale, fresh }: FeedOptions,
  ): Promise<Response> {
    const config = readConfig(c.env);
    this.#cache ??= new FeedCache(deploymentId(c.env), config);
    const key = JSON.stringify([reader.name, query, locale]);
    const call = { c, reader, query, locale, fresh, cache: this.#cache, key };
    const bypass = fresh ? 'request' : 'bypass';
    // Feed read, 3: memory.
    const served =
      fresh || config.feedCacheSeconds === 0
        ? await this.#readThrough(call, `edge; fwd=${bypass}, isolate; fwd=${bypass}`)
        : (this.#serveCached(call) ?? (await this.#serveFromEdgeOrD1(call)));
    setLogFields({ cache: served.source });
    return httpResponse(c, served);
  }

  /**
   * Serves the response in memory, or from the edge if that has a later version: if it is current,
   * or stale and there is a reason to serve it.
   */
  #serveCached(
    call: FeedCall,
    atEdge?: FeedResponse,
    reason?: StaleReason,
  ): ServedResponse | undefined {
    const { c, cache, key } = call;
    const cached = cache.find(key, atEdge);
    if (cached === undefined || !mayServe(cached, reason)) return undefined;
    const { response, level, memoryFwd, state, ttlMs, ageMs } = cached;
    if (state === 'due') c.executionCtx.waitUntil(this.#renewCheck(call));
    const detail = state === 'stale' ? `; detail=${reason}` : '';
    const hit = `hit; ttl=${Math.floor(ttlMs / 1_000)}${detail}`;
    // RFC 9211: the cache nearest the origin comes first.
    const cacheStatus =
      level === 'memory' ? `isolate; ${hit}` : `edge; ${hit}, isolate; fwd=${memoryFwd}`;
    if (level === 'edge') cache.remember(key, response);
    return state === 'stale'
      ? { response, source: 'stale', cacheStatus, ageMs }
      : { response, source: level, cacheStatus };
  }

  /** Feed read, 4: the edge cache, then D1. */
  async #serveFromEdgeOrD1(call: FeedCall): Promise<ServedResponse> {
    const { c, cache, key } = call;
    const edgeLookup = cache.findAtEdge(c.req.url, key);
    const atEdge = await firstWithin(edgeLookup, EDGE_HEAD_START_MS, undefined);
    // 20 ms.
    const isPaused = isWithin(this.#faultAt, FAULT_PAUSE_MS);
    const served = this.#serveCached(call, atEdge, isPaused ? 'failed' : undefined);
    if (served) return served;

    const cached = cache.find(key, atEdge);
    const cacheStatus = `edge; fwd=${atEdge ? 'stale' : 'miss'}, isolate; fwd=${cached?.memoryFwd ?? 'miss'}`;
    const reading = this.#readThrough(call, cacheStatus, cached?.response);
    // It continues after a stale response was served.
    c.executionCtx.waitUntil(reading.catch(() => undefined));
    const fromCaches = async (reason: StaleReason) =>
      this.#serveCached(call, await settledValue(edgeLookup), reason);
    try {
      return (
        (await firstWithin(reading, D1_HEAD_START_MS, undefined)) ??
        // 300 ms: D1 is slow.
        (await fromCaches(isWithin(this.#faultAt, RECENT_FAULT_MS) ? 'failed' : 'slow')) ??
        (await firstWithin(reading, STALL_MS - D1_HEAD_START_MS, undefined)) ??
        // 2 s: D1 has stalled, which `#watch` notes.
        (await fromCaches('failed')) ??
        (await reading)
      );
    } catch (error) {
      // D1 has failed, after 5 s at most. Without a response in memory, wait for the edge cache.
      const late =
        (await fromCaches('failed')) ?? this.#serveCached(call, await edgeLookup, 'failed');
      if (late) return late;
      throw error;
    }
  }

  /**
   * Reads D1 in one round trip, which returns no rows while the version is that of the cached
   * response, and caches what D1 responds.
   */
  async #readThrough(
    { c, reader, query, locale, fresh, cache, key }: FeedCall,
    cacheStatus: string,
    cached?: FeedResponse,
  ): Promise<ServedResponse> {
    const { publicSiteUrl } = readConfig(c.env);
    const options = { publicSiteUrl, cachedVersion: cached?.version };
    const read = async (session: D1DatabaseSession) => {
      const page = await reader.read(session, query, options);
      if (page === 'unchanged' && cached) return cached;
      if (page === 'unchanged') throw new Error('no cached response is unchanged');
      const { version, json } = page;
      return makeResponse(json && locale ? inLanguages(json, locale) : json, version);
    };
    const constraint = fresh ? 'first-primary' : 'first-unconstrained';
    const response = await this.#watch(cache.versions.read(c.env.DB, read, constraint));
    c.executionCtx.waitUntil(cache.put(c.req.url, key, response));
    return { response, source: 'database', cacheStatus };
  }

  /** Unless another request of this isolate does. Never rejects. */
  async #renewCheck({ c, cache }: FeedCall): Promise<void> {
    if (isWithin(this.#renewalAt, RENEWAL_RETRY_MS)) return;
    this.#renewalAt = Date.now();
    const reading = cache.versions.read(c.env.DB, readVersion);
    if ((await this.#watch(reading).catch(() => undefined)) === undefined) return;
    await cache.shareChecks(c.req.url);
    this.#renewalAt = Number.NEGATIVE_INFINITY;
  }

  /** Waits 5 s at most, else throws a 500. Notes a failure or a stall of D1 as a fault. */
  async #watch<Result>(reading: Promise<Result>): Promise<Result> {
    const stall = new Error(`a read took over ${STALL_MS} ms`);
    const timer = setTimeout(() => this.#noteFault(stall), STALL_MS);
    try {
      const result = await firstWithin(reading, READ_DEADLINE_MS, undefined);
      if (result !== undefined) return result;
      throw internalError(new Error(`D1 took over ${READ_DEADLINE_MS} ms`), RETRY_SECONDS);
    } catch (error) {
      this.#noteFault(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #noteFault(error: unknown): void {
    this.#faultAt = Date.now();
    if (isWithin(this.#faultLoggedAt, FAULT_PAUSE_MS)) return;
    this.#faultLoggedAt = this.#faultAt;
    logFault('D1 failed or stalled', error);
  }
}

/** A time in the future has ended too: the clock was set back. */
function isWithin(time: number, milliseconds: number): boolean {
  const ageMs = Date.now() - time;
  return ageMs >= 0 && ageMs < milliseconds;
}

/** The value of a promise that has settled; undefined for one that is pending. */
function settledValue<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, undefined]);
}

function mayServe({ state, response, ttlMs }: CachedResponse, reason: StaleReason): boolean {
  if (state === 'expired') return false;
  if (state !== 'stale') return true;
  // While D1 fails, a listing that was missing gets a 500: an import may have published it since.
  if (response.content === undefined) return false;
  return reason === 'failed' || (reason === 'slow' && -ttlMs <= SLOW_GRACE_MS);
}

/** Feed read, 7: makes a 200 or a 304, or throws a 404. */
function httpResponse(c: Context, { response, cacheStatus, ageMs }: ServedResponse): Response {
  const { content } = response;
  if (content === undefined) throw noSuchProperty({ 'Cache-Status': cacheStatus });
  const headers = new Headers({
    'Cache-Control': 'private, max-age=0, must-revalidate',
    'Cache-Status': cacheStatus,
    ETag: content.etag,
  });
  if (ageMs !== undefined) headers.set('Age', String(Math.floor(ageMs / 1_000)));
  return conditionalResponse(c, content.body, headers);
}
