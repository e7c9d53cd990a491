/** Answers requests of the feed: from the cache, else from D1, else with an older answer. */

import type { Context } from 'hono';
import { LRUCache } from 'lru-cache';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault, note } from '../http/log.ts';
import { firstWithin } from '../storage/deadline.ts';
import {
  type Answer,
  type Cached,
  FeedCache,
  type Fresh,
  isFresh,
  makeAnswer,
  matchesEtag,
  statusOf,
} from './cache.ts';
import { type FeedRequest, readJson } from './reader.ts';

/** D1 is asked beside the edge cache when that has not answered by then. */
const EDGE_HEAD_START_MS = 20;
/** The time after which another request may renew an answer: the first renewal has failed, or was cut off. */
const RENEWAL_RETRY_MS = 6_000;
/** Far more than are renewed at a time. */
const MAX_RENEWALS = 1_000;

/** An answer to give. */
type Given = {
  answer: Answer;
  source: 'memory' | 'edge' | 'database' | 'stale';
  /** The value of `Cache-Status`. */
  cacheStatus: string;
};

type Read =
  | { kind: 'read'; answer: Answer }
  | { kind: 'missing' }
  | { kind: 'failed'; error: unknown };

/** An answer that the edge cache gave while D1 was asked. */
type LateHit = { kind: 'hit'; found: Fresh };

/** A request under its key in the cache. */
type Asked = { c: Context<AppEnv>; request: FeedRequest; key: string; cache: FeedCache };

/** Returns the 404 for a listing that is hidden or unknown, and for a name that no listing can have. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

/** Answers for one isolate, with a memory of its own. */
export class Feed {
  #cache: FeedCache | undefined;
  /** Key → the time at which a renewal began, in milliseconds since the epoch. */
  readonly #renewals = new LRUCache<string, number>({ max: MAX_RENEWALS });

  /**
   * Answers with 200 or 304. Throws the 404 of a missing listing, and the error of D1 when no cached answer is young
   * enough to stand in. With `fresh` D1's primary is asked, past both levels of the cache, and no older answer stands
   * in; the cache has the answer afterwards.
   */
  async answer(c: Context<AppEnv>, request: FeedRequest, fresh?: 'true'): Promise<Response> {
    const config = configOf(c.env);
    this.#cache ??= new FeedCache(config);
    const asked = { c, request, key: JSON.stringify(request), cache: this.#cache };
    const given =
      config.feedCacheSeconds === 0 || fresh !== undefined
        ? await readPastCache(asked, fresh !== undefined)
        : await this.#find(asked);
    note({ cache: given.source });
    return responseOf(given, c.req.header('If-None-Match'));
  }

  async #find(asked: Asked): Promise<Given> {
    const { c, key, cache } = asked;
    const remembered = cache.findInMemory(key);
    if (isFresh(remembered)) {
      if (remembered.state === 'due') this.#renew(asked);
      return hit(asked, remembered, undefined);
    }
    const asking = cache.findAtEdge(c.req.url, key);
    const atEdge = await firstWithin(asking, EDGE_HEAD_START_MS);
    if (isFresh(atEdge)) {
      if (atEdge.state === 'due') this.#renew(asked);
      return hit(asked, atEdge, remembered);
    }
    // The read goes on when the edge cache is faster: its answer is cached.
    const reading = readIntoCache(asked);
    c.executionCtx.waitUntil(reading);
    const lateHit = asking.then(
      async (found): Promise<LateHit | Read> => (isFresh(found) ? { kind: 'hit', found } : reading),
    );
    const first = await Promise.race([reading, lateHit]);
    switch (first.kind) {
      case 'hit':
        return hit(asked, first.found, remembered);
      case 'missing':
        throw noSuchProperty();
      case 'read': {
        const cacheStatus = `${statusOf('edge', atEdge)}, ${statusOf('isolate', remembered)}`;
        return { answer: first.answer, source: 'database', cacheStatus };
      }
      case 'failed':
        return standIn(asked, await asking, first.error);
    }
  }

  /** Renews an answer in the background, unless another request of this isolate does. */
  #renew(asked: Asked): void {
    const { c, key } = asked;
    const now = Date.now();
    if (now - (this.#renewals.get(key) ?? 0) < RENEWAL_RETRY_MS) return;
    this.#renewals.set(key, now);
    c.executionCtx.waitUntil(
      renew(asked).then((isRenewed) => isRenewed && this.#renewals.delete(key)),
    );
  }
}

/** Gives a fresh answer. `remembered` is the older one that memory has, when the answer comes from the edge. */
function hit({ key, cache }: Asked, found: Fresh, remembered: Cached | undefined): Given {
  const { answer, level } = found;
  if (level === 'memory') {
    return { answer, source: level, cacheStatus: statusOf('isolate', found) };
  }
  cache.remember(key, answer);
  const cacheStatus = `${statusOf('edge', found)}, ${statusOf('isolate', remembered)}`;
  return { answer, source: level, cacheStatus };
}

/**
 * Gives an answer when D1 has failed: the younger one of both levels, because memory may be too small for
 * it. Throws D1's error when no cached answer is young enough.
 */
function standIn(asked: Asked, atEdge: Cached | undefined, error: unknown): Given {
  // D1 may have taken seconds to fail: another request may have read the answer meanwhile.
  const remembered = asked.cache.findInMemory(asked.key);
  if (isFresh(remembered)) return hit(asked, remembered, undefined);
  if (isFresh(atEdge)) return hit(asked, atEdge, remembered);
  const [younger] = [remembered, atEdge]
    .filter((cached) => cached !== undefined)
    .filter(({ state }) => state === 'stale')
    .sort((a, b) => b.answer.readAt - a.answer.readAt);
  if (younger === undefined) throw error;
  logFault('D1 failed: an older answer was given', error);
  const cacheStatus = `${statusOf('edge', atEdge)}, ${statusOf('isolate', remembered)}`;
  return { answer: younger.answer, source: 'stale', cacheStatus };
}

/** Reads while `FEED_CACHE_SECONDS` is 0, or for a request that asks for a fresh answer. */
async function readPastCache(asked: Asked, isFreshAsked: boolean): Promise<Given> {
  const isOff = configOf(asked.c.env).feedCacheSeconds === 0;
  const from = isFreshAsked ? 'first-primary' : 'first-unconstrained';
  const read = isOff ? await readAnswer(asked, from) : await readIntoCache(asked, from);
  if (read.kind === 'failed') throw read.error;
  if (read.kind === 'missing') throw noSuchProperty();
  const because = isOff ? 'bypass' : 'request';
  const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
  return { answer: read.answer, source: 'database', cacheStatus };
}

/** Renews a cached answer. Returns false when D1 has failed. */
async function renew(asked: Asked): Promise<boolean> {
  const { c, key, cache } = asked;
  // Another isolate may have renewed it.
  const atEdge = await cache.findAtEdge(c.req.url, key);
  if (atEdge?.state === 'fresh') {
    cache.remember(key, atEdge.answer);
    return true;
  }
  const read = await readIntoCache(asked);
  if (read.kind === 'failed') logFault('D1 failed: an answer could not be renewed', read.error);
  return read.kind !== 'failed';
}

/** Reads the answer from D1 into the cache. Never rejects. */
async function readIntoCache(asked: Asked, from?: D1SessionConstraint): Promise<Read> {
  const { c, key, cache } = asked;
  const read = await readAnswer(asked, from);
  if (read.kind === 'read') c.executionCtx.waitUntil(cache.put(c.req.url, key, read.answer));
  // Otherwise a removed listing would come back once D1 fails.
  if (read.kind === 'missing') c.executionCtx.waitUntil(cache.remove(c.req.url, key));
  return read;
}

/**
 * Reads the answer from D1. Never rejects. The nearest replica may lag, and the caches make answers older than that
 * anyway.
 */
async function readAnswer(
  { c, request }: Asked,
  from: D1SessionConstraint = 'first-unconstrained',
): Promise<Read> {
  const readAt = Date.now();
  try {
    const session = c.env.DB.withSession(from);
    const json = await readJson(session, configOf(c.env).publicSiteUrl, request);
    if (json === undefined) return { kind: 'missing' };
    return { kind: 'read', answer: await makeAnswer(json, readAt) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Makes a 200, or a 304 when the client holds the bytes already. */
function responseOf({ answer, source, cacheStatus }: Given, ifNoneMatch?: string): Response {
  const { body, headers, etag, readAt } = answer;
  const response = matchesEtag(ifNoneMatch, etag)
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers });
  response.headers.set('Cache-Status', cacheStatus);
  if (source === 'stale') {
    response.headers.set('Age', String(Math.floor((Date.now() - readAt) / 1_000)));
  }
  return response;
}
