/**
 * Serves the feed from a cache or from D1, which may be slow or failed. A check is the last time
 * that D1 had the version of a response (cache.ts).
 *
 *     0 ms      memory: current → serve it, and renew a check that is due in the background
 *               edge cache: the same, and keep the response in memory
 *     20 ms     D1 failed or stalled in the last 5 s, and a stale response is known → serve it
 *               otherwise read D1 (the edge cache may still respond)
 *     300 ms    D1 is slow → a response stale for at most five minutes;
 *               any stale one if D1 failed in the last minute
 *     2 s       D1 has stalled, which counts as failed → any stale response
 *     5 s       500
 *     any time  D1 responds → serve it, and cache it in both levels
 *               D1 fails → any stale response, else 500
 *
 * Times from 300 ms on count from the start of the read. A response may be stale for at most
 * `FEED_STALE_SECONDS`.
 */

import type { Context } from 'hono';
import { type AppEnv, readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { conditionalResponse } from '../http/conditional-response.ts';
import { internalError } from '../http/errors.ts';
import { logFault, setLogFields } from '../http/log.ts';
import { workerVersion } from '../version.ts';
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

type FeedCall = Pick<FeedOptions, 'locale'> & {
  c: Context<AppEnv>;
  reader: FeedReader<unknown>;
  request: unknown;
  fresh: boolean;
  cache: FeedCache;
  key: string;
};

/** Why a stale response may be served; undefined: none may. */
type StaleReason = 'slow' | 'failed' | undefined;

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
  /** Undefined for a response of D1. */
  cached?: CachedResponse;
};

type EdgeLookup = Promise<FeedResponse | undefined>;

/** One for each isolate. */
export class Feed {
  #cache: FeedCache | undefined;
  #renewalAt = Number.NEGATIVE_INFINITY;
  /** D1's last failure or stall. */
  #faultAt = Number.NEGATIVE_INFINITY;
  #faultLoggedAt = Number.NEGATIVE_INFINITY;

  /** Responds with 200 or 304. Throws the 404 of a missing listing, and D1's error. */
  async respond<Request>(
    c: Context<AppEnv>,
    reader: FeedReader<Request>,
    request: Request,
    { locale, fresh = false }: FeedOptions,
  ): Promise<Response> {
    const config = readConfig(c.env);
    this.#cache ??= new FeedCache(workerVersion(c.env), config);
    const key = JSON.stringify([reader.name, request, locale]);
    const call = { c, reader, request, locale, fresh, cache: this.#cache, key };
    const isBypass = fresh || config.feedCacheSeconds === 0;
    const served = isBypass ? await this.#bypassCache(call) : await this.#serve(call);
    setLogFields({ cache: served.source });
    return httpResponse(c, served);
  }

  /** Feed read, 3 and 4. */
  async #serve(call: FeedCall): Promise<ServedResponse> {
    const { c, cache, key } = call;
    // Without a reason, nothing stale is served: the edge cache may have a current response.
    const inMemory = serveCached(call);
    if (inMemory) return this.#followUp(call, inMemory);
    const edgeLookup = cache.findAtEdge(c.req.url, key);
    const served =
      (await this.#serveFromEdge(call, edgeLookup)) ?? (await this.#serveFromD1(call, edgeLookup));
    return this.#followUp(call, served);
  }

  /** Until 20 ms. */
  async #serveFromEdge(
    call: FeedCall,
    edgeLookup: EdgeLookup,
  ): Promise<ServedResponse | undefined> {
    const edge = await firstWithin(edgeLookup, EDGE_HEAD_START_MS, undefined);
    return serveCached(call, edge, isWithin(this.#faultAt, FAULT_PAUSE_MS) ? 'failed' : undefined);
  }

  /** Serves what D1 responds, or a stale response at 300 ms, at 2 s, or after a failure. */
  async #serveFromD1(call: FeedCall, edgeLookup: EdgeLookup): Promise<ServedResponse> {
    const { c, cache, key } = call;
    const atEdge = await settledValue(edgeLookup);
    const inMemory = cache.find(key) ? 'stale' : 'miss';
    const cacheStatus = `edge; fwd=${atEdge ? 'stale' : 'miss'}, isolate; fwd=${inMemory}`;
    const newestKnown = cache.find(key, atEdge)?.response;
    const reading = this.#readThrough(call, newestKnown);
    // It continues after a stale response was served.
    c.executionCtx.waitUntil(reading.catch(() => undefined));
    const fromD1 = async (waitMs: number): Promise<ServedResponse | undefined> => {
      const response = await firstWithin(reading, waitMs, undefined);
      return response && { response, source: 'database', cacheStatus };
    };
    const fromCaches = async (reason: StaleReason) =>
      serveCached(call, await settledValue(edgeLookup), reason);
    try {
      const slow = () => (isWithin(this.#faultAt, RECENT_FAULT_MS) ? 'failed' : 'slow');
      return (
        (await fromD1(D1_HEAD_START_MS)) ??
        (await fromCaches(slow())) ??
        (await fromD1(STALL_MS - D1_HEAD_START_MS)) ??
        (await fromCaches('failed')) ?? { response: await reading, source: 'database', cacheStatus }
      );
    } catch (error) {
      // D1 has failed, after 5 s at most.
      const served = serveCached(call, await edgeLookup, 'failed');
      if (served) return served;
      throw error;
    }
  }

  /** Keeps a response of the edge in memory, and renews a check that is due. */
  #followUp(call: FeedCall, served: ServedResponse): ServedResponse {
    const { response, cached } = served;
    if (cached?.level === 'edge') call.cache.remember(call.key, response);
    if (cached?.state === 'due') call.c.executionCtx.waitUntil(this.#renewCheck(call));
    return served;
  }

  /** Unless another request of this isolate does. Never rejects. */
  async #renewCheck({ c, cache }: FeedCall): Promise<void> {
    if (isWithin(this.#renewalAt, RENEWAL_RETRY_MS)) return;
    this.#renewalAt = Date.now();
    const read = await this.#watch(cache.read(c.env.DB, readVersion)).catch(() => undefined);
    if (read === undefined) return;
    await cache.shareVersion(c.req.url);
    this.#renewalAt = Number.NEGATIVE_INFINITY;
  }

  async #bypassCache(call: FeedCall): Promise<ServedResponse> {
    const response = await this.#readThrough(call);
    const because = call.fresh ? 'request' : 'bypass';
    const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
    return { response, source: 'database', cacheStatus };
  }

  /** Reads D1, and caches what it responds. */
  async #readThrough(call: FeedCall, cached?: FeedResponse): Promise<FeedResponse> {
    const { c, cache, key } = call;
    const reading = firstWithin(readUnlessCached(call, cached), READ_DEADLINE_MS, undefined);
    const response = await this.#watch(reading);
    const late = new Error(`D1 took over ${READ_DEADLINE_MS} ms`);
    if (response === undefined) throw internalError(late, RETRY_SECONDS);
    c.executionCtx.waitUntil(cache.put(c.req.url, key, response));
    return response;
  }

  /** Notes a fault. */
  async #watch<Result>(reading: Promise<Result>): Promise<Result> {
    const stall = new Error(`a read took over ${STALL_MS} ms`);
    const timer = setTimeout(() => this.#noteFault(stall), STALL_MS);
    try {
      return await reading;
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

/** Finds a response in memory, or in what the edge cache returned, and serves it if it may. */
function serveCached(
  { cache, key }: FeedCall,
  edge?: FeedResponse,
  reason?: StaleReason,
): ServedResponse | undefined {
  const cached = cache.find(key, edge);
  if (cached === undefined || !mayServe(cached, reason)) return undefined;
  const { response, level, state, ttlMs } = cached;
  const detail = state === 'stale' ? `; detail=${reason}` : '';
  const hit = `hit; ttl=${Math.floor(ttlMs / 1_000)}${detail}`;
  // RFC 9211: the cache nearest the origin comes first.
  const cacheStatus =
    level === 'memory'
      ? `isolate; ${hit}`
      : `edge; ${hit}, isolate; fwd=${cache.find(key) ? 'stale' : 'miss'}`;
  return { response, source: state === 'stale' ? 'stale' : level, cacheStatus, cached };
}

function mayServe({ state, response, ttlMs }: CachedResponse, reason: StaleReason): boolean {
  if (state === 'expired') return false;
  if (state !== 'stale') return true;
  // While D1 fails, a listing that was missing gets a 500: an import may have published it since.
  if (response.body === undefined) return false;
  return reason === 'failed' || (reason === 'slow' && -ttlMs <= SLOW_GRACE_MS);
}

/**
 * Reads D1 in one round trip, which returns no rows while the version is that of the cached
 * response. The lag of a replica that `FeedCache.read` cannot see is assumed to be under
 * `FEED_CACHE_SECONDS`.
 */
async function readUnlessCached(
  { c, reader, request, locale, fresh, cache }: FeedCall,
  cached: FeedResponse | undefined,
): Promise<FeedResponse> {
  const { publicSiteUrl } = readConfig(c.env);
  const { json, version } = await cache.read(
    c.env.DB,
    (session) => reader.read(session, request, { publicSiteUrl, cachedVersion: cached?.version }),
    fresh ? 'first-primary' : 'first-unconstrained',
  );
  if (cached?.version === version) return cached;
  return makeResponse(json && locale ? inLanguages(json, locale) : json, version);
}

/** Feed read, 7: makes a 200 or a 304, or throws a 404. */
function httpResponse(c: Context, { response, cacheStatus, cached }: ServedResponse): Response {
  const { body, headers } = response;
  if (body === undefined) throw noSuchProperty();
  const sent = conditionalResponse(c, body, headers);
  sent.headers.set('Cache-Status', cacheStatus);
  if (cached?.state === 'stale') {
    sent.headers.set('Age', String(Math.max(0, Math.floor(cached.ageMs / 1_000))));
  }
  return sent;
}
