/**
 * Serves the feed from the cache, from D1, or with a stale response while D1 fails, stalls or is slow:
 *
 *     0 ms      memory: current → serve it; renewing → serve it, and renew it in the background
 *               edge cache: the same, and keep it in memory
 *     20 ms     D1 failed or stalled in the last 5 s, and a stale response is known → serve it
 *               otherwise read D1 (the edge cache may still respond)
 *     300 ms    D1 has not answered → a stale response, at most five minutes past its time; any stale response if D1
 *               failed or stalled in the last minute
 *     2 s       D1 has stalled → any stale response
 *     5 s       500
 *     any time  D1 answers → serve it, and cache it in both levels; D1 fails → any stale response, else 500
 */

import type { Context } from 'hono';
import { LRUCache } from 'lru-cache';
import { type AppEnv, configOf } from '../config.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault, note } from '../http/log.ts';
import { encodeCursor, listJson } from '../http/paging.ts';
import { firstWithin } from '../storage/deadline.ts';
import type { Connection } from '../storage/statement.ts';
import {
  type CachedResponse,
  FeedCache,
  type FeedResponse,
  makeResponse,
  matchesEtag,
} from './cache.ts';
import { inLanguages } from './locale-map.ts';
import { findLocations, LOCATIONS_SCOPE, type LocationsRequest } from './locations.ts';
import {
  findDocument,
  findPage,
  type ListingKey,
  type PageRequest,
  propertiesScope,
} from './store.ts';

/** A request. Equal requests have equal JSON texts. */
export type FeedRequest = (
  | ({ kind: 'page' } & PageRequest)
  | { kind: 'item'; key: ListingKey }
  | ({ kind: 'locations' } & LocationsRequest)
) & {
  /** The languages that every text is cut to; undefined for all of them. */
  locale: readonly string[] | undefined;
};

/** Reads the body of the response, as JSON text; undefined if there is no such listing. */
async function readJson(
  connection: Connection,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<string | undefined> {
  const { locale } = request;
  switch (request.kind) {
    case 'item': {
      const document = await findDocument(connection, publicSiteUrl, request.key);
      return document && inLanguages(document, locale);
    }
    case 'page': {
      const { documents, next } = await findPage(connection, publicSiteUrl, request);
      const items = locale ? documents.map((each) => inLanguages(each, locale)) : documents;
      return listJson(items, next && (await encodeCursor(propertiesScope(request), next)));
    }
    case 'locations': {
      const { documents, next } = await findLocations(connection, request);
      const items = documents.map((each) => inLanguages(each, locale));
      return listJson(items, next && (await encodeCursor(LOCATIONS_SCOPE, next)));
    }
  }
}

/** D1 is read too if the edge cache has not responded by then. */
const EDGE_HEAD_START_MS = 20;
/** A stale response may be served if D1 has not answered by then. */
const D1_HEAD_START_MS = 300;
/** A longer read has stalled: D1 has been seen to stall for more than a minute. */
const STALL_MS = 2_000;
/** The time after a fault of D1 in which stale responses are served at once. */
const FAULT_PAUSE_MS = 5_000;
/** The time after a fault of D1 in which any stale response is served instead of a slow read. */
const FAULT_MEMORY_MS = 60_000;
/** While D1 is slow and has no fault, a response is served until this time after its own. */
const SLOW_GRACE_MS = 300_000;
/** After this time another request may renew a response: the first renewal has failed, or was cancelled. */
const RENEWAL_RETRY_MS = 6_000;
/** Far more than the renewals that are under way at a time. */
const MAX_RENEWALS = 1_000;

/** A request, with its key in the cache. */
type FeedCall = { c: Context<AppEnv>; request: FeedRequest; key: string; cache: FeedCache };

/** What the two levels have. */
type CacheLookup = { memory: CachedResponse | undefined; edge: CachedResponse | undefined };

type ReadOutcome =
  | { kind: 'read'; response: FeedResponse }
  | { kind: 'missing' }
  | { kind: 'failed'; error: unknown };

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
};

/** The cached responses that may be served: those before their time, also stale ones for five minutes, or any of them. */
type Tolerance = 'unexpired' | 'stale for minutes' | 'stale';

/** Chooses the youngest of the cached responses that may be served. Pure. */
export function chooseCached(
  { memory, edge }: CacheLookup,
  tolerance: Tolerance,
): CachedResponse | undefined {
  const [youngest] = [memory, edge]
    .filter((cached) => cached !== undefined)
    .filter(({ state, ttlMs }) => {
      if (state === 'current' || state === 'renewing') return true;
      if (state === 'expired' || tolerance === 'unexpired') return false;
      return tolerance === 'stale' || ttlMs >= -SLOW_GRACE_MS;
    })
    .sort((a, b) => b.ttlMs - a.ttlMs);
  return youngest;
}

/** Returns the 404 for a listing that is hidden or unknown, and for a name that no listing can have. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

/** The feed of one isolate, with its own memory. */
export class Feed {
  #cache: FeedCache | undefined;
  /** Key → the time at which a renewal began, in milliseconds since the epoch. */
  readonly #renewals = new LRUCache<string, number>({ max: MAX_RENEWALS });
  /** The time of D1's last fault, a failure or a stall. */
  #faultAt = Number.NEGATIVE_INFINITY;
  #faultLoggedAt = Number.NEGATIVE_INFINITY;

  /**
   * Responds with 200 or 304. Throws the 404 of a missing listing, and D1's error if there is no stale response either.
   * With `fresh`, the primary is read past both levels of the cache, and no stale response is served.
   */
  async respond(c: Context<AppEnv>, request: FeedRequest, fresh?: 'true'): Promise<Response> {
    const config = configOf(c.env);
    this.#cache ??= new FeedCache(config);
    const call = { c, request, key: JSON.stringify(request), cache: this.#cache };
    const served =
      config.feedCacheSeconds === 0 || fresh !== undefined
        ? await this.#bypassCache(call, fresh !== undefined)
        : await this.#serve(call);
    note({ cache: served.source });
    return httpResponse(served, c.req.header('If-None-Match'));
  }

  async #serve(call: FeedCall): Promise<ServedResponse> {
    const { c, key, cache } = call;
    // 0 ms
    const memory = cache.findInMemory(key);
    const inMemory = chooseCached({ memory, edge: undefined }, 'unexpired');
    if (inMemory) return this.#serveCached(call, inMemory, { memory, edge: undefined });
    const edgeLookup = cache.findAtEdge(c.req.url, key);
    const first = { memory, edge: await firstWithin(edgeLookup, EDGE_HEAD_START_MS, undefined) };

    // 20 ms
    const early = chooseCached(first, this.#hadFault(FAULT_PAUSE_MS) ? 'stale' : 'unexpired');
    if (early) return this.#serveCached(call, early, first);
    // The read continues after a cached response was served, and is cached itself.
    const reading = this.#read(call);
    c.executionCtx.waitUntil(reading);
    const serveInstead = async (tolerance: Tolerance): Promise<ServedResponse | undefined> => {
      const edge = await firstWithin(edgeLookup, 0, undefined);
      // Another request may have read the response meanwhile.
      const lookup = { memory: cache.findInMemory(key), edge };
      const cached = chooseCached(lookup, tolerance);
      return cached && this.#serveCached(call, cached, lookup);
    };

    let outcome = await firstWithin(reading, D1_HEAD_START_MS, undefined);
    if (outcome === undefined) {
      // 300 ms
      const hadFault = this.#hadFault(FAULT_MEMORY_MS);
      const served = await serveInstead(hadFault ? 'stale' : 'stale for minutes');
      if (served) return served;
      outcome = await firstWithin(reading, STALL_MS - D1_HEAD_START_MS, undefined);
    }
    if (outcome === undefined) {
      // 2 s
      const served = await serveInstead('stale');
      if (served) return served;
      outcome = await reading;
    }
    switch (outcome.kind) {
      case 'read':
        return {
          response: outcome.response,
          source: 'database',
          cacheStatus: cacheStatusOf(first),
        };
      case 'missing':
        throw noSuchProperty();
      case 'failed': {
        // The edge cache has its own time limit.
        await edgeLookup;
        const served = await serveInstead('stale');
        if (served) return served;
        throw outcome.error;
      }
    }
  }

  #serveCached(call: FeedCall, cached: CachedResponse, lookup: CacheLookup): ServedResponse {
    const { response, level, state } = cached;
    if (level === 'edge') call.cache.remember(call.key, response);
    if (state === 'renewing') this.#renew(call);
    const source = state === 'stale' ? 'stale' : level;
    const cacheStatus = source === 'memory' ? statusOf('isolate', cached) : cacheStatusOf(lookup);
    return { response, source, cacheStatus };
  }

  /** Renews a response in the background, unless another request of this isolate does. */
  #renew(call: FeedCall): void {
    const now = Date.now();
    if (now - (this.#renewals.get(call.key) ?? 0) < RENEWAL_RETRY_MS) return;
    this.#renewals.set(call.key, now);
    call.c.executionCtx.waitUntil(this.#renewNow(call));
  }

  async #renewNow(call: FeedCall): Promise<void> {
    const { c, key, cache } = call;
    // Another isolate may have renewed the response.
    const edge = await cache.findAtEdge(c.req.url, key);
    if (edge?.state === 'current') cache.remember(key, edge.response);
    else if ((await this.#read(call)).kind === 'failed') return;
    this.#renewals.delete(key);
  }

  /** Serves a request while `FEED_CACHE_SECONDS` is 0, or with `fresh`. */
  async #bypassCache(call: FeedCall, isFresh: boolean): Promise<ServedResponse> {
    const isOff = configOf(call.c.env).feedCacheSeconds === 0;
    const constraint = isFresh ? 'first-primary' : 'first-unconstrained';
    const outcome = isOff ? await readFromD1(call, constraint) : await this.#read(call, constraint);
    if (outcome.kind === 'failed') throw outcome.error;
    if (outcome.kind === 'missing') throw noSuchProperty();
    const because = isOff ? 'bypass' : 'request';
    const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
    return { response: outcome.response, source: 'database', cacheStatus };
  }

  /** Reads D1 into both levels, and notes a fault of D1. Never rejects. */
  async #read(call: FeedCall, constraint?: D1SessionConstraint): Promise<ReadOutcome> {
    const { c, key, cache } = call;
    const readAt = Date.now();
    const reading = readFromD1(call, constraint);
    const inTime = await firstWithin(reading, STALL_MS, undefined);
    if (inTime === undefined) this.#noteFault(new Error(`a read took over ${STALL_MS} ms`));
    const outcome = inTime ?? (await reading);
    if (outcome.kind === 'failed') {
      this.#noteFault(outcome.error);
    } else {
      const response = outcome.kind === 'read' ? outcome.response : undefined;
      c.executionCtx.waitUntil(cache.put(c.req.url, key, readAt, response));
    }
    return outcome;
  }

  #noteFault(error: unknown): void {
    const now = Date.now();
    this.#faultAt = now;
    if (now - this.#faultLoggedAt < FAULT_PAUSE_MS) return;
    this.#faultLoggedAt = now;
    logFault('D1 failed or stalled', error);
  }

  /** Reports whether D1 had a fault in the last milliseconds. */
  #hadFault(withinMs: number): boolean {
    return Date.now() - this.#faultAt < withinMs;
  }
}

/**
 * Reads the response from D1. Never rejects. By default the nearest replica may answer: its lag is shorter than the age
 * of a cached response.
 */
async function readFromD1(
  { c, request }: FeedCall,
  constraint: D1SessionConstraint = 'first-unconstrained',
): Promise<ReadOutcome> {
  const readAt = Date.now();
  try {
    const session = c.env.DB.withSession(constraint);
    const json = await readJson(session, configOf(c.env).publicSiteUrl, request);
    if (json === undefined) return { kind: 'missing' };
    return { kind: 'read', response: await makeResponse(json, readAt) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Makes the value of `Cache-Status` (RFC 9211), the cache nearest the origin first. */
function cacheStatusOf({ memory, edge }: CacheLookup): string {
  return `${statusOf('edge', edge)}, ${statusOf('isolate', memory)}`;
}

function statusOf(name: 'isolate' | 'edge', cached: CachedResponse | undefined): string {
  if (cached === undefined) return `${name}; fwd=miss`;
  const ttl = Math.floor(cached.ttlMs / 1_000);
  return cached.ttlMs > 0 ? `${name}; hit; ttl=${ttl}` : `${name}; fwd=stale`;
}

/** Makes a 200, or a 304 if the client has the response already. */
function httpResponse(served: ServedResponse, ifNoneMatch?: string): Response {
  const { body, headers, etag, readAt } = served.response;
  const response = matchesEtag(ifNoneMatch, etag)
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers });
  response.headers.set('Cache-Status', served.cacheStatus);
  if (served.source === 'stale') {
    response.headers.set('Age', String(Math.floor((Date.now() - readAt) / 1_000)));
  }
  return response;
}
