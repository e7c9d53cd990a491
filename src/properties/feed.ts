/**
 * Serves the feed from a cache or from D1, which may be slow or failed. D1's response is served when
 * it arrives, and cached in both levels. A cached response is served at the first of the moments
 * below at which it may be.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { conditionalResponse } from '../http/conditional-response.ts';
import { internalError, resourceMissing } from '../http/errors.ts';
import { logError, setLogFields } from '../http/log.ts';
import { deploymentId } from '../release.ts';
import { FeedCache, type FeedResponse, makeResponse } from './cache.ts';
import { inLanguages } from './locale-map.ts';
import { CATALOGUE_VERSION_ALONE, type FeedReader } from './store.ts';

/** Of a current response, `staleMs` is negative. */
const NONE = -1;
/** Any response that has not expired (versions.ts). */
const ANY = Number.MAX_SAFE_INTEGER;

/**
 * A cached response may be stale for `graceMs`; if D1 failed or stalled in the last `faultMs`, for
 * `ANY` time. `waitMs` is the wait since the moment before: first for the edge cache, then for D1.
 */
const MOMENTS = {
  memory: { graceMs: NONE, faultMs: 0 },
  edge: { waitMs: 20, graceMs: NONE, faultMs: 5_000 },
  slow: { waitMs: 300, graceMs: 300_000, faultMs: 60_000 },
  stalled: { waitMs: 1_700, graceMs: ANY, faultMs: 0 },
};
/** Some stalls of D1 have lasted for more than a minute. */
const STALL_MS = MOMENTS.slow.waitMs + MOMENTS.stalled.waitMs;
/** A read that takes longer is a 500 without a cached response. */
const READ_DEADLINE_MS = 5_000;
const RETRY_SECONDS = 2;
/** A renewal that has failed, or takes longer, is tried again after this time. */
const RENEWAL_RETRY_MS = 6_000;
const FAULT_LOG_PAUSE_MS = 5_000;

type FeedRequest<Query> = {
  c: Context<AppEnv>;
  reader: FeedReader<Query>;
  query: Query;
  /** Undefined for all languages. */
  locale?: readonly string[] | undefined;
  /** Reads the primary, past the cache. */
  fresh?: boolean | undefined;
};

type FeedCall = FeedRequest<unknown> & { cache: FeedCache; key: string };

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
  /** Only of a stale response: the time since its version was last found in D1. */
  ageMs?: number | undefined;
};

/** One for each isolate. */
export class Feed {
  #cache: FeedCache | undefined;
  #renewalAt = Number.NEGATIVE_INFINITY;
  /** D1's last failure or stall. */
  #faultAt = Number.NEGATIVE_INFINITY;
  #faultLoggedAt = Number.NEGATIVE_INFINITY;

  /** Responds with 200 or 304. Throws the 404 of a missing listing, and D1's error. */
  async respond<Query>(request: FeedRequest<Query>): Promise<Response> {
    const { c, reader, query, locale, fresh } = request;
    const config = readConfig(c.env);
    this.#cache ??= new FeedCache(deploymentId(c.env), config);
    const key = JSON.stringify([reader.name, query, locale]);
    const call = { ...request, cache: this.#cache, key };
    const bypass = fresh ? 'request' : 'bypass';
    // Feed read, 3: memory.
    const served =
      fresh || config.feedCacheSeconds === 0
        ? await this.#serveFromD1(call, `edge; fwd=${bypass}, isolate; fwd=${bypass}`)
        : (this.#serveCached(call, MOMENTS.memory) ?? (await this.#serveFromEdgeOrD1(call)));
    setLogFields({ cache: served.source });
    return httpResponse(c, served);
  }

  /** Serves the newest cached response, in memory or `atEdge`, if it may be served at a moment. */
  #serveCached(
    call: FeedCall,
    { graceMs, faultMs }: { graceMs: number; faultMs: number },
    atEdge?: FeedResponse,
  ): ServedResponse | undefined {
    const { c, cache, key } = call;
    const cached = cache.find(key, atEdge);
    if (cached?.staleMs === undefined) return undefined;
    const { response, level, memoryFwd, staleMs, ageMs } = cached;
    const maxStaleMs = isWithin(this.#faultAt, faultMs) ? ANY : graceMs;
    const isStale = staleMs >= 0;
    // A stale 404 is never served: an import may have published the listing since.
    if (staleMs > maxStaleMs || (isStale && response.content === undefined)) return undefined;
    const isDue = !isStale && -staleMs <= cache.versions.renewalMs;
    if (isDue) c.executionCtx.waitUntil(this.#renewCheck(call));
    if (level === 'edge') cache.remember(key, response);
    const ttl = Math.floor(-staleMs / 1_000);
    const reason = maxStaleMs === ANY ? 'failed' : 'slow';
    const hit = isStale ? `hit; ttl=${Math.min(-1, ttl)}; detail=${reason}` : `hit; ttl=${ttl}`;
    return {
      response,
      source: isStale ? 'stale' : level,
      // RFC 9211: the cache nearest the origin comes first.
      cacheStatus:
        level === 'memory' ? `isolate; ${hit}` : `edge; ${hit}, isolate; fwd=${memoryFwd}`,
      ageMs: isStale ? ageMs : undefined,
    };
  }

  /** Feed read, 4: the edge cache, then D1. */
  async #serveFromEdgeOrD1(call: FeedCall): Promise<ServedResponse> {
    const { c, cache, key } = call;
    const lookup = cache.findAtEdge(c.req.url, key);
    const atEdge = await firstWithin(lookup, MOMENTS.edge.waitMs, undefined);
    const early = this.#serveCached(call, MOMENTS.edge, atEdge);
    if (early) return early;

    const cached = cache.find(key, atEdge);
    const cacheStatus = `edge; fwd=${atEdge ? 'stale' : 'miss'}, isolate; fwd=${cached?.memoryFwd ?? 'miss'}`;
    const reading = this.#serveFromD1(call, cacheStatus, cached?.response);
    const readOrFailed = reading.catch(() => undefined);
    // The read continues after a stale response was served.
    c.executionCtx.waitUntil(readOrFailed);
    for (const moment of [MOMENTS.slow, MOMENTS.stalled]) {
      // A failure ends the wait. A response of the edge cache counts if it has arrived.
      const served =
        (await firstWithin(readOrFailed, moment.waitMs, undefined)) ??
        this.#serveCached(call, moment, await Promise.race([lookup, undefined]));
      if (served) return served;
    }
    try {
      return await reading;
    } catch (error) {
      const late = this.#serveCached(call, MOMENTS.stalled, await lookup);
      if (late) return late;
      throw error;
    }
  }

  /** Serves what D1 has, and caches it. While the version is that of `cached`, D1 returns no rows. */
  async #serveFromD1(
    call: FeedCall,
    cacheStatus: string,
    cached?: FeedResponse,
  ): Promise<ServedResponse> {
    const { c, locale, cache, key } = call;
    const { version, json } = await this.#readNotingFaults(call, cached?.version.id ?? null);
    const isUnchanged = version.id === cached?.version.id;
    const text = json && locale ? inLanguages(json, locale) : json;
    const response = isUnchanged ? cached : await makeResponse(text, version);
    c.executionCtx.waitUntil(cache.put(c.req.url, key, response));
    return { response, source: 'database', cacheStatus };
  }

  /** Does nothing while another request of this isolate renews the check. Never rejects. */
  async #renewCheck(call: FeedCall): Promise<void> {
    if (isWithin(this.#renewalAt, RENEWAL_RETRY_MS)) return;
    this.#renewalAt = Date.now();
    const reading = this.#readNotingFaults({ ...call, reader: CATALOGUE_VERSION_ALONE }, null);
    if ((await reading.catch(() => undefined)) === undefined) return;
    await call.cache.shareChecks(call.c.req.url);
    this.#renewalAt = Number.NEGATIVE_INFINITY;
  }

  /** Reads D1, and throws a 500 after 5 s. A failure or a stall of D1 is a fault. */
  async #readNotingFaults(call: FeedCall, cachedVersion: string | null) {
    const stall = new Error(`a read took over ${STALL_MS} ms`);
    const timer = setTimeout(() => this.#noteFault(stall), STALL_MS);
    try {
      const read = await firstWithin(readLatest(call, cachedVersion), READ_DEADLINE_MS, undefined);
      if (read !== undefined) return read;
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
    if (isWithin(this.#faultLoggedAt, FAULT_LOG_PAUSE_MS)) return;
    this.#faultLoggedAt = this.#faultAt;
    logError('D1 failed or stalled', error);
  }
}

/**
 * Reads D1 in one round trip. A replica may lag: a read that finds neither the current version nor a
 * newer one is repeated at the primary, which decides.
 */
async function readLatest(
  { c, reader, query, fresh, cache }: FeedCall,
  cachedVersion: string | null,
) {
  const { versions } = cache;
  const options = { publicSiteUrl: readConfig(c.env).publicSiteUrl, cachedVersion };
  for (let isPrimary = fresh === true; ; isPrimary = true) {
    const known = versions.current?.id;
    const at = Date.now();
    const session = c.env.DB.withSession(isPrimary ? 'first-primary' : 'first-unconstrained');
    const read = await reader.read(session, query, options);
    // The primary does not decide if another read changed the current version meanwhile.
    const isDecided = isPrimary && known === versions.current?.id;
    if (versions.note(read.version, at, isDecided)) return read;
  }
}

/** A time in the future has ended too: the clock was set back. */
function isWithin(time: number, milliseconds: number): boolean {
  const ageMs = Date.now() - time;
  return ageMs >= 0 && ageMs < milliseconds;
}

/** 404 `resource_missing`, also for a name that no listing can have. */
export function noSuchProperty(headers?: { 'Cache-Status': string }) {
  return resourceMissing('There is no such property.', headers);
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
