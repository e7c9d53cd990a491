/**
 * Serves the feed from a cache or from D1, which may be slow or failed. A `Check` (cache.ts) is a
 * version of the catalogue, and when D1 last had it.
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
 */

import type { Context } from 'hono';
import { type AppEnv, readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { internalError } from '../http/errors.ts';
import { logFault, setLogFields } from '../http/log.ts';
import { conditionalResponse } from '../http/response-headers.ts';
import { type CachedResponse, FeedCache, type FeedResponse, makeResponse } from './cache.ts';
import { inLanguages } from './locale-map.ts';
import { type FeedReader, noSuchProperty, readVersion } from './store.ts';

const EDGE_HEAD_START_MS = 20;
const D1_HEAD_START_MS = 300;
/** D1 may stall for more than a minute. */
const STALL_MS = 2_000;
/** Of a recheck and of a repeat at the primary too. */
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
  /** What the edge cache has returned so far. */
  edge: FeedResponse | undefined;
};

/** Why a stale response may be served; undefined: none may. */
type StaleReason = 'slow' | 'failed' | undefined;

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
};

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
    this.#cache ??= new FeedCache(config);
    const key = JSON.stringify([reader.name, request, locale]);
    const call = { c, reader, request, locale, fresh, cache: this.#cache, key, edge: undefined };
    const isBypass = fresh || config.feedCacheSeconds === 0;
    const served = isBypass ? await this.#bypassCache(call) : await this.#serve(call);
    setLogFields({ cache: served.source });
    return httpResponse(c, served);
  }

  async #serve(call: FeedCall): Promise<ServedResponse> {
    // Feed read, 3: 0 ms. No stale response yet: the edge cache may have a current one.
    const inMemory = this.#serveCached(call);
    if (inMemory) return inMemory;
    const edgeLookup = this.#findAtEdge(call);
    await firstWithin(edgeLookup, EDGE_HEAD_START_MS, undefined);

    // Feed read, 4: 20 ms
    const reason = isWithin(this.#faultAt, FAULT_PAUSE_MS) ? 'failed' : undefined;
    return this.#serveCached(call, reason) ?? this.#serveFromD1(call, edgeLookup);
  }

  async #findAtEdge(call: FeedCall): Promise<void> {
    call.edge = await call.cache.findAtEdge(call.c.req.url, call.key);
  }

  async #serveFromD1(call: FeedCall, edgeLookup: Promise<void>): Promise<ServedResponse> {
    const isolate = call.cache.find(call.key) ? 'stale' : 'miss';
    const cacheStatus = `edge; fwd=${call.edge ? 'stale' : 'miss'}, isolate; fwd=${isolate}`;
    const reading = this.#readThrough(call);
    // It continues after a stale response was served.
    call.c.executionCtx.waitUntil(reading.catch(() => undefined));
    try {
      // Until 300 ms, and until 2 s: by then `#watch` has noted a stall.
      for (const waitMs of [D1_HEAD_START_MS, STALL_MS - D1_HEAD_START_MS]) {
        const response = await firstWithin(reading, waitMs, undefined);
        if (response) return { response, source: 'database', cacheStatus };
        const reason = isWithin(this.#faultAt, RECENT_FAULT_MS) ? 'failed' : 'slow';
        const served = this.#serveCached(call, reason);
        if (served) return served;
      }
      return { response: await reading, source: 'database', cacheStatus };
    } catch (error) {
      // D1 has failed, after 5 s at most.
      await edgeLookup;
      const served = this.#serveCached(call, 'failed');
      if (served) return served;
      throw error;
    }
  }

  /** Also moves a response of the edge into memory, and renews a check that is due. */
  #serveCached(call: FeedCall, reason?: StaleReason): ServedResponse | undefined {
    const { c, cache, key, edge } = call;
    const cached = cache.find(key, edge);
    if (cached === undefined || !mayServe(cached, reason)) return undefined;
    const { response, state, ttlMs } = cached;
    const level = response === edge ? 'edge' : 'memory';
    const detail = state === 'stale' ? `; detail=${reason}` : '';
    const hit = `hit; ttl=${Math.floor(ttlMs / 1_000)}${detail}`;
    // RFC 9211: the cache nearest the origin comes first.
    const cacheStatus =
      level === 'memory'
        ? `isolate; ${hit}`
        : `edge; ${hit}, isolate; fwd=${cache.find(key) ? 'stale' : 'miss'}`;
    if (level === 'edge') cache.remember(key, response);
    if (state === 'due') c.executionCtx.waitUntil(this.#renewCheck(call));
    return { response, source: state === 'stale' ? 'stale' : level, cacheStatus };
  }

  /** Unless another request of this isolate does. Never rejects. */
  async #renewCheck({ c, cache }: FeedCall): Promise<void> {
    if (isWithin(this.#renewalAt, RENEWAL_RETRY_MS)) return;
    this.#renewalAt = Date.now();
    const read = await this.#watch(cache.read(c.env.DB, readVersion)).catch(() => undefined);
    if (read === undefined) return;
    await cache.shareCheck(c.req.url, read);
    this.#renewalAt = Number.NEGATIVE_INFINITY;
  }

  async #bypassCache(call: FeedCall): Promise<ServedResponse> {
    const response = await this.#readThrough(call);
    const because = call.fresh ? 'request' : 'bypass';
    const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
    return { response, source: 'database', cacheStatus };
  }

  async #readThrough(call: FeedCall): Promise<FeedResponse> {
    const { c, cache, key } = call;
    const reading = firstWithin(readOrRecheck(call), READ_DEADLINE_MS, undefined);
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

function mayServe({ state, response, ttlMs }: CachedResponse, reason: StaleReason): boolean {
  if (state === 'expired') return false;
  if (state !== 'stale') return true;
  // A missing listing may have been published since.
  if (response.body === undefined) return false;
  return reason === 'failed' || (reason === 'slow' && -ttlMs <= SLOW_GRACE_MS);
}

/**
 * Reads D1: for a cached response of the current version, first the version alone, one row. The lag
 * of a replica that `FeedCache.read` cannot see is assumed to be under `FEED_CACHE_SECONDS`.
 */
async function readOrRecheck(call: FeedCall): Promise<FeedResponse> {
  const { c, reader, request, locale, fresh, cache, key, edge } = call;
  const known = cache.find(key, edge);
  if (known?.hasCurrentVersion && !fresh) {
    const { check } = await cache.read(c.env.DB, readVersion);
    // The same check is the same version (`Check`).
    if (check === known.response.check) return known.response;
  }
  const { publicSiteUrl } = readConfig(c.env);
  const readJson = (session: D1DatabaseSession) => reader.read(session, publicSiteUrl, request);
  const constraint = fresh ? 'first-primary' : 'first-unconstrained';
  const { json, check } = await cache.read(c.env.DB, readJson, constraint);
  return makeResponse(json && locale ? inLanguages(json, locale) : json, check);
}

/** Feed read, 7: makes a 200 or a 304, or throws a 404. */
function httpResponse(c: Context, { response, source, cacheStatus }: ServedResponse): Response {
  const { body, headers, check } = response;
  if (body === undefined) throw noSuchProperty();
  const sent = conditionalResponse(c, body, headers);
  sent.headers.set('Cache-Status', cacheStatus);
  const ageSeconds = Math.max(0, Math.floor((Date.now() - check.at) / 1_000));
  if (source === 'stale') sent.headers.set('Age', String(ageSeconds));
  return sent;
}
