/**
 * Serves the feed from a cache or from D1, which may be slow or failed:
 *
 *     0 ms      memory: current → serve it; renewing → serve it, and renew it in the background
 *               edge cache: the same, and keep it in memory
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
import { LRUCache } from 'lru-cache';
import { type AppEnv, configOf } from '../config.ts';
import { firstWithin } from '../deadline.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault, note } from '../http/log.ts';
import type { Connection } from '../storage/statement.ts';
import {
  type CachedResponse,
  type CacheKey,
  FeedCache,
  type FeedRead,
  type FeedResponse,
  makeResponse,
} from './cache.ts';
import { inLanguages } from './locale-map.ts';

const EDGE_HEAD_START_MS = 20;
const D1_HEAD_START_MS = 300;
/** D1 has been seen to stall for more than a minute. */
const STALL_MS = 2_000;
/** For this time after a fault, D1 counts as failed before it is read. */
const FAULT_PAUSE_MS = 5_000;
/** For this time after a fault, D1 counts as failed once a read is slow. */
const RECENT_FAULT_MS = 60_000;
/** While D1 is slow, a response is served for this time after it became stale. */
const SLOW_GRACE_MS = 300_000;
/** Then another request may renew a response: the first renewal has failed, or was cancelled. */
const RENEWAL_RETRY_MS = 6_000;
const MAX_RENEWALS = 1_000;

/** A kind of response that is cached under its request: equal requests have equal JSON texts. */
export type FeedKind<Request> = {
  name: string;
  /** Reads the response in all languages from D1, as JSON text. */
  find(
    connection: Connection,
    publicSiteUrl: string,
    request: Request,
  ): Promise<string | Missing<Request>>;
  canBeMissing?: true;
};

/** No listing was found for these requests, which are 404s. */
type Missing<Request> = { missing: readonly Request[] };

type FeedOptions = {
  /** The languages that every text is cut to; undefined for all of them. */
  locale?: readonly string[] | undefined;
  /** Reads the primary past both levels of the cache, and serves no stale response. */
  fresh?: boolean | undefined;
};

type FeedCall = {
  c: Context<AppEnv>;
  kind: FeedKind<unknown>;
  request: unknown;
  locale: FeedOptions['locale'];
  cache: FeedCache;
  key: CacheKey;
  /** What the edge cache has returned so far. */
  edge: CachedResponse | undefined;
};

type CacheLookup = { memory: CachedResponse | undefined; edge: CachedResponse | undefined };

type D1State = 'running' | 'slow' | 'failed';

type ReadOutcome = { kind: 'read'; read: FeedRead } | { kind: 'failed'; error: unknown };

type ServedResponse = {
  response: FeedResponse;
  source: 'memory' | 'edge' | 'database' | 'stale';
  cacheStatus: string;
};

/** 404 `resource_missing`, also for a name that no listing can have. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

export class Feed {
  #cache: FeedCache | undefined;
  /** Key → the start of its renewal. */
  readonly #renewals = new LRUCache<string, number>({ max: MAX_RENEWALS });
  /** D1's last failure or stall. */
  #faultAt = Number.NEGATIVE_INFINITY;
  #faultLoggedAt = Number.NEGATIVE_INFINITY;

  /** Responds with 200 or 304. Throws the 404 of a missing listing, and D1's error. */
  async respond<Request>(
    c: Context<AppEnv>,
    kind: FeedKind<Request>,
    request: Request,
    { locale, fresh = false }: FeedOptions,
  ): Promise<Response> {
    const config = configOf(c.env);
    this.#cache ??= new FeedCache(config);
    const name = JSON.stringify([kind.name, request]);
    const key = {
      url: c.req.url,
      response: `${name} in ${locale ?? 'all languages'}`,
      removal: kind.canBeMissing && name,
    };
    const call = { c, kind, request, locale, cache: this.#cache, key, edge: undefined };
    const isOff = config.feedCacheSeconds === 0;
    const served = isOff || fresh ? await this.#bypassCache(call, fresh) : await this.#serve(call);
    note({ cache: served.source });
    return httpResponse(served, c.req.header('If-None-Match'));
  }

  async #serve(call: FeedCall): Promise<ServedResponse> {
    // Feed read, 3: 0 ms
    const inMemory = this.#serveCached(call, 'running');
    if (inMemory) return inMemory;
    const edgeLookup = call.cache.findAtEdge(call.key).then((edge) => {
      call.edge = edge;
    });
    await firstWithin(edgeLookup, EDGE_HEAD_START_MS, undefined);

    // Feed read, 4: 20 ms
    const d1 = this.#hadFault(FAULT_PAUSE_MS) ? 'failed' : 'running';
    return this.#serveCached(call, d1) ?? this.#serveFromD1(call, edgeLookup);
  }

  async #serveFromD1(call: FeedCall, edgeLookup: Promise<void>): Promise<ServedResponse> {
    const { c, cache, key, edge } = call;
    const cacheStatus = statusOfBoth({ memory: cache.findInMemory(key), edge });
    const reading = this.#readThrough(call);
    // The read continues after a stale response was served, and is cached itself.
    c.executionCtx.waitUntil(reading);
    let outcome = await firstWithin(reading, D1_HEAD_START_MS, undefined);

    // 300 ms
    if (outcome === undefined) {
      const d1 = this.#hadFault(RECENT_FAULT_MS) ? 'failed' : 'slow';
      const served = this.#serveCached(call, d1);
      if (served) return served;
      outcome = await firstWithin(reading, STALL_MS - D1_HEAD_START_MS, undefined);
    }

    // 2 s
    if (outcome === undefined) {
      const served = this.#serveCached(call, 'failed');
      if (served) return served;
      outcome = await reading;
    }

    // 5 s at most
    if (outcome.kind === 'failed') {
      await edgeLookup;
      const served = this.#serveCached(call, 'failed');
      if (served) return served;
    }
    return { response: resultOf(outcome), source: 'database', cacheStatus };
  }

  /** Serves a cached response, if one may be. Another request may have cached one meanwhile. */
  #serveCached(call: FeedCall, d1: D1State): ServedResponse | undefined {
    const memory = call.cache.findInMemory(call.key);
    const lookup = { memory, edge: call.edge };
    const cached = chooseCached(lookup, d1);
    if (cached === undefined) return undefined;
    const { response, level, state } = cached;
    if (level === 'edge') call.cache.remember(call.key.response, response);
    if (state === 'renewing') this.#renew(call);
    if (state === 'stale') {
      const cacheStatus = `${statusOfBoth(lookup)}; detail=${d1}`;
      return { response, source: 'stale', cacheStatus };
    }
    const cacheStatus = level === 'memory' ? statusOf('isolate', cached) : statusOfBoth(lookup);
    return { response, source: level, cacheStatus };
  }

  /** Renews a response in the background, unless another request of this isolate does. */
  #renew(call: FeedCall): void {
    const now = Date.now();
    if (now - (this.#renewals.get(call.key.response) ?? 0) < RENEWAL_RETRY_MS) return;
    this.#renewals.set(call.key.response, now);
    call.c.executionCtx.waitUntil(this.#renewNow(call));
  }

  async #renewNow(call: FeedCall): Promise<void> {
    const { key, cache } = call;
    // Another isolate may have renewed the response.
    const edge = await cache.findAtEdge(key);
    if (edge?.state === 'current') cache.remember(key.response, edge.response);
    else if ((await this.#readThrough(call)).kind === 'failed') return;
    this.#renewals.delete(key.response);
  }

  async #bypassCache(call: FeedCall, isFresh: boolean): Promise<ServedResponse> {
    const outcome = await this.#readThrough(call, isFresh ? 'first-primary' : undefined);
    const because = isFresh ? 'request' : 'bypass';
    const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
    return { response: resultOf(outcome), source: 'database', cacheStatus };
  }

  /** Reads D1 into both levels, and notes a fault of D1. Never rejects. */
  async #readThrough(call: FeedCall, constraint?: D1SessionConstraint): Promise<ReadOutcome> {
    const reading = tryRead(call, constraint);
    const inTime = await firstWithin(reading, STALL_MS, undefined);
    if (inTime === undefined) this.#noteFault(new Error(`a read took over ${STALL_MS} ms`));
    const outcome = inTime ?? (await reading);
    if (outcome.kind === 'failed') this.#noteFault(outcome.error);
    else call.c.executionCtx.waitUntil(call.cache.put(call.key.url, outcome.read));
    return outcome;
  }

  #noteFault(error: unknown): void {
    this.#faultAt = Date.now();
    if (this.#faultAt - this.#faultLoggedAt < FAULT_PAUSE_MS) return;
    this.#faultLoggedAt = this.#faultAt;
    logFault('D1 failed or stalled', error);
  }

  #hadFault(withinMs: number): boolean {
    return Date.now() - this.#faultAt < withinMs;
  }
}

/** Chooses the younger cached response, if it may be served in this state of D1. Pure. */
export function chooseCached(
  { memory, edge }: CacheLookup,
  d1: D1State,
): CachedResponse | undefined {
  const isEdgeYounger = edge && (memory === undefined || edge.ttlMs > memory.ttlMs);
  const cached = isEdgeYounger ? edge : memory;
  switch (cached?.state) {
    case 'current':
    case 'renewing':
      return cached;
    case 'stale': {
      const isWithinGrace = -cached.ttlMs <= SLOW_GRACE_MS;
      return d1 === 'failed' || (d1 === 'slow' && isWithinGrace) ? cached : undefined;
    }
    default:
      return undefined;
  }
}

/** Never rejects. A replica may respond: its lag is shorter than the age of a response. */
async function tryRead(
  { c, kind, request, locale, key }: FeedCall,
  constraint: D1SessionConstraint = 'first-unconstrained',
): Promise<ReadOutcome> {
  const readAt = Date.now();
  try {
    const session = c.env.DB.withSession(constraint);
    const found = await kind.find(session, configOf(c.env).publicSiteUrl, request);
    if (typeof found !== 'string') {
      const keys = new Set(found.missing.map((each) => JSON.stringify([kind.name, each])));
      return { kind: 'read', read: { keys, result: { readAt } } };
    }
    const result = await makeResponse(locale ? inLanguages(found, locale) : found, readAt);
    return { kind: 'read', read: { keys: new Set([key.response]), result } };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Throws the 404 of a missing listing, and D1's error. */
function resultOf(outcome: ReadOutcome): FeedResponse {
  if (outcome.kind === 'failed') throw outcome.error;
  const { result } = outcome.read;
  if (result.body === undefined) throw noSuchProperty();
  return result;
}

/** Makes the value of `Cache-Status` (RFC 9211), the cache nearest the origin first. */
function statusOfBoth({ memory, edge }: CacheLookup): string {
  return `${statusOf('edge', edge)}, ${statusOf('isolate', memory)}`;
}

function statusOf(name: 'isolate' | 'edge', cached: CachedResponse | undefined): string {
  if (cached === undefined) return `${name}; fwd=miss`;
  const ttl = Math.floor(cached.ttlMs / 1_000);
  return cached.ttlMs > 0 ? `${name}; hit; ttl=${ttl}` : `${name}; fwd=stale`;
}

/** Feed read, 7: makes a 200, or a 304 if the client has the response already. */
function httpResponse(
  { response, source, cacheStatus }: ServedResponse,
  ifNoneMatch: string | undefined,
): Response {
  const { body, headers, etag, readAt } = response;
  const isUnchanged = ifNoneMatch !== undefined && namesTag(ifNoneMatch, etag);
  const sent = new Response(isUnchanged ? null : body, {
    status: isUnchanged ? 304 : 200,
    headers,
  });
  sent.headers.set('Cache-Status', cacheStatus);
  if (source === 'stale') {
    sent.headers.set('Age', String(Math.floor((Date.now() - readAt) / 1_000)));
  }
  return sent;
}

/** A proxy that compresses marks the tag `W/`: compare weakly (RFC 9110 section 13.1.2). */
export function namesTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
