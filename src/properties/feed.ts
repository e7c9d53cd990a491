/**
 * Serves the feed from a cache or from D1. While D1 is slow or failing, the feed can serve stale
 * responses. A request passes through the stages of the stale policy until D1 responds, or until a
 * stage allows the newest cached response. D1's response is cached at both levels, even if it arrives
 * after a stale response was served.
 *
 *     stage     begins                       allows a response that is           after a failure of D1
 *     memory    immediately                  fresh
 *     edge      after at most 20 ms          fresh                               stale, for 5 s
 *     slow      300 ms after D1 was called   fresh, or stale for up to 5 min     stale, for 60 s
 *     stalled   2 s after D1 was called      fresh or stale
 *
 * If D1 fails, the remaining stages begin immediately. Expired responses are never served. If there is
 * no response to serve, the request gets a 500 after at most 5 s.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { createConditionalResponse } from '../http/conditional-response.ts';
import { internalError, resourceMissing } from '../http/errors.ts';
import { logError, setLogFields } from '../http/log.ts';
import { getDeploymentId } from '../release.ts';
import { type CachedResponse, FeedCache, type FeedResponse, makeResponse } from './cache.ts';
import { pickLocales } from './locale-map.ts';
import { CATALOGUE_VERSION_ONLY, type FeedReader } from './store.ts';

type Stage = {
  /** Maximum wait before the stage begins: for the edge cache before `edge`, and for D1 before later stages. */
  waitMs: number;
  /** Maximum staleness of a response that the stage serves. Absent if the stage serves only fresh responses. */
  maxStaleMs?: number;
  /** Time after a D1 failure during which the stage serves any stale response. */
  failureMs: number;
};

const STALE_POLICY = {
  memory: { waitMs: 0, failureMs: 0 },
  edge: { waitMs: 20, failureMs: 5_000 },
  slow: { waitMs: 300, maxStaleMs: 300_000, failureMs: 60_000 },
  stalled: { waitMs: 1_700, maxStaleMs: Number.POSITIVE_INFINITY, failureMs: 0 },
} satisfies Record<string, Stage>;

/** Time after which a read counts as a failure. Some stalls of D1 have lasted for more than a minute. */
const STALL_MS = STALE_POLICY.slow.waitMs + STALE_POLICY.stalled.waitMs;
const READ_DEADLINE_MS = 5_000;
const RETRY_SECONDS = 2;
/** Time after which a failed or slow revalidation is repeated. */
const REVALIDATION_RETRY_MS = 6_000;
const FAILURE_LOG_INTERVAL_MS = 5_000;

type FeedRequest<Query> = {
  c: Context<AppEnv>;
  reader: FeedReader<Query>;
  query: Query;
  /** The languages of the response; undefined for all languages. */
  locale?: readonly string[] | undefined;
  /** Whether to bypass the cache and read the primary. */
  fresh?: boolean | undefined;
};

type FeedCall = FeedRequest<unknown> & { cache: FeedCache; key: string };

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
  /** Age of the version's last confirmation; undefined unless the response is stale. */
  ageMs?: number;
};

/** The feed and its cache in one isolate. */
export class Feed {
  #cache: FeedCache | undefined;
  /** Start of the revalidation in progress. */
  #revalidatingSince = Number.NEGATIVE_INFINITY;
  /** Time of D1's last failure or stall. */
  #failedAt = Number.NEGATIVE_INFINITY;
  #failureLoggedAt = Number.NEGATIVE_INFINITY;

  /** Responds with 200 or 304. Throws a 404 if the listing is missing, and a 500 if D1 fails. */
  async respond<Query>(request: FeedRequest<Query>): Promise<Response> {
    const { c, reader, query, locale, fresh } = request;
    const config = readConfig(c.env);
    this.#cache ??= new FeedCache(getDeploymentId(c.env), config);
    const key = JSON.stringify([reader.name, query, locale]);
    const call = { ...request, cache: this.#cache, key };
    const fwd = fresh ? 'request' : 'bypass';
    const served =
      fresh || config.feedCacheSeconds === 0
        ? await this.#serveFromD1(call, `edge; fwd=${fwd}, isolate; fwd=${fwd}`)
        : (this.#serveCached(call, STALE_POLICY.memory) ?? (await this.#serveFromEdgeOrD1(call)));
    setLogFields({ cache: served.source });
    return toHttpResponse(c, served);
  }

  async #serveFromEdgeOrD1(call: FeedCall): Promise<ServedResponse> {
    const { c, cache, key } = call;
    const lookup = cache.findAtEdge(c.req.url, key);
    const edgeResponse = await firstWithin(lookup, STALE_POLICY.edge.waitMs, undefined);
    const earlyResponse = this.#serveCached(call, STALE_POLICY.edge, edgeResponse);
    if (earlyResponse) return earlyResponse;

    const cached = cache.find(key, edgeResponse);
    const cacheStatus = `edge; fwd=${edgeResponse ? 'stale' : 'miss'}, isolate; fwd=${cached?.memoryFwd ?? 'miss'}`;
    const reading = this.#serveFromD1(call, cacheStatus, cached?.response);
    const readOrFailed = reading.catch(() => undefined);
    // The read continues after a stale response was served.
    c.executionCtx.waitUntil(readOrFailed);
    for (const stage of [STALE_POLICY.slow, STALE_POLICY.stalled]) {
      // A failure of D1 ends the wait.
      const read = await firstWithin(readOrFailed, stage.waitMs, undefined);
      if (read) return read;
      // By now, a slow edge cache may have responded.
      const served = this.#serveCached(call, stage, await Promise.race([lookup, undefined]));
      if (served) return served;
    }
    try {
      return await reading;
    } catch (error) {
      const lateResponse = this.#serveCached(call, STALE_POLICY.stalled, await lookup);
      if (lateResponse) return lateResponse;
      throw error;
    }
  }

  /** Serves the newest cached response, from memory or from the edge, if a stage allows it. */
  #serveCached(
    call: FeedCall,
    stage: Stage,
    edgeResponse?: FeedResponse,
  ): ServedResponse | undefined {
    const { c, cache, key } = call;
    const cached = cache.find(key, edgeResponse);
    if (cached === undefined) return undefined;
    const { response, freshness, level } = cached;
    switch (freshness.kind) {
      case 'fresh': {
        if (freshness.isDue) c.executionCtx.waitUntil(this.#revalidate(call));
        if (level === 'edge') cache.putInMemory(key, response);
        const ttl = Math.floor(freshness.ttlMs / 1_000);
        return { response, source: level, cacheStatus: formatHit(cached, `hit; ttl=${ttl}`) };
      }
      case 'stale': {
        const { staleMs, ageMs } = freshness;
        const hasFailed = isWithin(this.#failedAt, stage.failureMs);
        const isAllowed =
          hasFailed || (stage.maxStaleMs !== undefined && staleMs <= stage.maxStaleMs);
        // A stale 404 is never served, because an import may have published the listing.
        if (!isAllowed || response.content === undefined) return undefined;
        if (level === 'edge') cache.putInMemory(key, response);
        const ttl = Math.min(-1, Math.floor(-staleMs / 1_000));
        const detail = stage === STALE_POLICY.slow && !hasFailed ? 'slow' : 'failed';
        const cacheStatus = formatHit(cached, `hit; ttl=${ttl}; detail=${detail}`);
        return { response, source: 'stale', cacheStatus, ageMs };
      }
      case 'expired':
        return undefined;
    }
  }

  /**
   * Serves D1's response, and caches it. If the version of `cached` is current, D1 returns no rows, and
   * `cached` is served.
   */
  async #serveFromD1(
    call: FeedCall,
    cacheStatus: string,
    cached?: FeedResponse,
  ): Promise<ServedResponse> {
    const { c, locale, cache, key } = call;
    const { version, json } = await this.#readD1(call, cached?.version.id ?? null);
    const isUnchanged = version.id === cached?.version.id;
    const text = json && locale ? pickLocales(json, locale) : json;
    const response = isUnchanged ? cached : await makeResponse(text, version);
    c.executionCtx.waitUntil(cache.put(c.req.url, key, response));
    return { response, source: 'database', cacheStatus };
  }

  /**
   * Reads only the version, to confirm it. Only one request of the isolate does so at a time. Never
   * rejects.
   */
  async #revalidate(call: FeedCall): Promise<void> {
    if (isWithin(this.#revalidatingSince, REVALIDATION_RETRY_MS)) return;
    this.#revalidatingSince = Date.now();
    const reading = this.#readD1({ ...call, reader: CATALOGUE_VERSION_ONLY }, null);
    const read = await reading.catch(() => undefined);
    if (read === undefined) return;
    await call.cache.shareConfirmations(call.c.req.url);
    this.#revalidatingSince = Number.NEGATIVE_INFINITY;
  }

  /** Reads D1, and records a failure or a stall. Throws a 500 after 5 s. */
  async #readD1(call: FeedCall, cachedVersion: string | null) {
    const stall = new Error(`a read took over ${STALL_MS} ms`);
    const timer = setTimeout(() => this.#recordFailure(stall), STALL_MS);
    try {
      const reading = readAndConfirm(call, cachedVersion);
      const read = await firstWithin(reading, READ_DEADLINE_MS, undefined);
      if (read !== undefined) return read;
      throw internalError(new Error(`D1 took over ${READ_DEADLINE_MS} ms`), RETRY_SECONDS);
    } catch (error) {
      this.#recordFailure(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #recordFailure(error: unknown): void {
    this.#failedAt = Date.now();
    if (isWithin(this.#failureLoggedAt, FAILURE_LOG_INTERVAL_MS)) return;
    this.#failureLoggedAt = this.#failedAt;
    logError('D1 failed or stalled', error);
  }
}

/**
 * Reads D1 in one round trip, and confirms the version of the result. If this version is older than the
 * current one, a replica may lag behind. The read is then repeated at the primary, which decides.
 */
async function readAndConfirm(
  { c, reader, query, fresh, cache }: FeedCall,
  cachedVersion: string | null,
) {
  const { versions } = cache;
  const options = { publicSiteUrl: readConfig(c.env).publicSiteUrl, cachedVersion };
  for (let isPrimary = fresh === true; ; isPrimary = true) {
    const currentId = versions.current?.id;
    const at = Date.now();
    const session = c.env.DB.withSession(isPrimary ? 'first-primary' : 'first-unconstrained');
    const read = await reader.read(session, query, options);
    // The primary does not decide if another read has changed the current version in the meantime.
    const isDecisive = isPrimary && currentId === versions.current?.id;
    if (versions.confirm(read.version, at, isDecisive)) return read;
  }
}

/**
 * Whether a time is less than `milliseconds` ago. Returns false for a time in the future, which can
 * occur after the clock was set back.
 */
function isWithin(time: number, milliseconds: number): boolean {
  const ageMs = Date.now() - time;
  return ageMs >= 0 && ageMs < milliseconds;
}

/** Formats `Cache-Status`. The cache nearest the origin comes first (RFC 9211 section 2). */
function formatHit({ level, memoryFwd }: CachedResponse, hit: string): string {
  return level === 'memory' ? `isolate; ${hit}` : `edge; ${hit}, isolate; fwd=${memoryFwd}`;
}

/** Builds the 404 `resource_missing` for a missing listing, or for a path that cannot name a listing. */
export function propertyNotFound(headers?: { 'Cache-Status': string }) {
  return resourceMissing('There is no such property.', headers);
}

/** Makes a 200 or a 304, or throws a 404. */
function toHttpResponse(c: Context, { response, cacheStatus, ageMs }: ServedResponse): Response {
  const { content } = response;
  if (content === undefined) throw propertyNotFound({ 'Cache-Status': cacheStatus });
  const headers = new Headers({
    'Cache-Control': 'private, max-age=0, must-revalidate',
    'Cache-Status': cacheStatus,
    ETag: content.etag,
  });
  if (ageMs !== undefined) headers.set('Age', String(Math.floor(ageMs / 1_000)));
  return createConditionalResponse(c, content.body, headers);
}
