/** Answers requests of the feed: from the cache, else from D1, else with an older answer. */

import type { Context } from 'hono';
import { LRUCache } from 'lru-cache';
import { type AppEnv, configOf } from '../config.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault, note } from '../http/log.ts';
import { encodeCursor, listJson } from '../http/paging.ts';
import { firstWithin } from '../storage/deadline.ts';
import type { Connection } from '../storage/statement.ts';
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

/** Reads the answer to a request, as JSON text; undefined when there is no such listing. */
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

/** D1 is asked too when the edge cache has not answered by then. */
const EDGE_HEAD_START_MS = 20;
/** A stale answer is given when D1 has not answered by then. */
const D1_HEAD_START_MS = 300;
/** A read that takes longer counts as failed: D1 has been seen to stall for more than a minute. */
const SLOW_READ_MS = 2_000;
/** The time after a failed read in which stale answers are given at once. */
const FAILING_MS = 5_000;
/** A read of D1 has ended by then, or was cancelled with its request. */
const PROBE_MS = 6_000;
/** After this time another request may renew an answer: the first renewal has failed, or was cancelled. */
const RENEWAL_RETRY_MS = 6_000;
/** Far more than the renewals that are under way at a time. */
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

/** A request with its key in the cache. */
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
  /** The time until which D1 counts as failing, in milliseconds since the epoch. */
  #failingUntil = 0;
  /** The time until which a read counts as probing D1. */
  #probedUntil = 0;

  /**
   * Answers with 200 or 304. Throws the 404 of a missing listing, and the error of D1 when there is no stale answer
   * either. With `fresh`, D1's primary is asked past both levels of the cache, no stale answer is given, and both
   * levels have the answer afterwards.
   */
  async answer(c: Context<AppEnv>, request: FeedRequest, fresh?: 'true'): Promise<Response> {
    const config = configOf(c.env);
    this.#cache ??= new FeedCache(config);
    const asked = { c, request, key: JSON.stringify(request), cache: this.#cache };
    const given =
      config.feedCacheSeconds === 0 || fresh !== undefined
        ? await this.#readPastCache(asked, fresh !== undefined)
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
    const atEdge = await firstWithin(asking, EDGE_HEAD_START_MS, undefined);
    if (isFresh(atEdge)) {
      if (atEdge.state === 'due') this.#renew(asked);
      return hit(asked, atEdge, remembered);
    }
    const older = youngestStale(remembered, atEdge);
    if (older !== undefined && this.#isFailing()) {
      if (this.#mayProbe()) c.executionCtx.waitUntil(this.#probe(asked));
      return older;
    }
    // The read goes on after a stale answer was given, and its own answer is cached.
    const reading = this.#read(asked);
    c.executionCtx.waitUntil(reading);
    const lateHit = asking.then(
      async (found): Promise<LateHit | Read> => (isFresh(found) ? { kind: 'hit', found } : reading),
    );
    const racing = Promise.race([reading, lateHit]);
    const first = await firstWithin(racing, D1_HEAD_START_MS, undefined);
    if (first === undefined) {
      const found = youngestStale(remembered, await firstWithin(asking, 0, undefined));
      if (found !== undefined) return found;
    }
    return outcomeOf(asked, first ?? (await racing), { remembered, atEdge, asking });
  }

  /** Reports whether stale answers are given at once: D1 has failed lately, or is being probed. */
  #isFailing(): boolean {
    return Date.now() < Math.max(this.#failingUntil, this.#probedUntil);
  }

  /** Reports whether a probe may begin: one read at a time probes D1. */
  #mayProbe(): boolean {
    return Date.now() >= this.#probedUntil;
  }

  async #probe(asked: Asked): Promise<void> {
    this.#probedUntil = Date.now() + PROBE_MS;
    await this.#read(asked);
    this.#probedUntil = 0;
  }

  /** Reads the answer from D1 into the cache, and notes whether D1 is failing. Never rejects. */
  async #read(asked: Asked, from?: D1SessionConstraint): Promise<Read> {
    const reading = readIntoCache(asked, from);
    const inTime = await firstWithin(reading, SLOW_READ_MS, undefined);
    if (inTime === undefined) this.#failingUntil = Date.now() + FAILING_MS;
    const read = inTime ?? (await reading);
    const isFailing = inTime === undefined || read.kind === 'failed';
    this.#failingUntil = isFailing ? Date.now() + FAILING_MS : 0;
    return read;
  }

  /** Renews an answer in the background, unless another request of this isolate does. */
  #renew(asked: Asked): void {
    const { c, key } = asked;
    const now = Date.now();
    if (now - (this.#renewals.get(key) ?? 0) < RENEWAL_RETRY_MS) return;
    this.#renewals.set(key, now);
    c.executionCtx.waitUntil(this.#renewNow(asked));
  }

  async #renewNow(asked: Asked): Promise<void> {
    const { c, key, cache } = asked;
    // Another isolate may have renewed the answer.
    const atEdge = await cache.findAtEdge(c.req.url, key);
    if (atEdge?.state === 'fresh') {
      cache.remember(key, atEdge.answer);
    } else {
      const read = await this.#read(asked);
      if (read.kind === 'failed') {
        logFault('D1 failed: an answer could not be renewed', read.error);
        return;
      }
    }
    this.#renewals.delete(key);
  }

  /** Reads while `FEED_CACHE_SECONDS` is 0, or for a request that asks for a fresh answer. */
  async #readPastCache(asked: Asked, isFreshAsked: boolean): Promise<Given> {
    const isOff = configOf(asked.c.env).feedCacheSeconds === 0;
    const from = isFreshAsked ? 'first-primary' : 'first-unconstrained';
    const read = isOff ? await readAnswer(asked, from) : await this.#read(asked, from);
    if (read.kind === 'failed') throw read.error;
    if (read.kind === 'missing') throw noSuchProperty();
    const because = isOff ? 'bypass' : 'request';
    const cacheStatus = `edge; fwd=${because}, isolate; fwd=${because}`;
    return { answer: read.answer, source: 'database', cacheStatus };
  }
}

/** The answers that were found before D1 has answered. */
type Found = {
  remembered: Cached | undefined;
  atEdge: Cached | undefined;
  /** The edge cache may answer after D1. */
  asking: Promise<Cached | undefined>;
};

async function outcomeOf(asked: Asked, first: Read | LateHit, found: Found): Promise<Given> {
  const { remembered, atEdge, asking } = found;
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
      return afterFailure(asked, await asking, first.error);
  }
}

/** Gives a fresh answer. `remembered` is the stale answer in memory, when the fresh one comes from the edge. */
function hit({ key, cache }: Asked, found: Fresh, remembered: Cached | undefined): Given {
  const { answer, level } = found;
  if (level === 'memory') {
    return { answer, source: level, cacheStatus: statusOf('isolate', found) };
  }
  cache.remember(key, answer);
  const cacheStatus = `${statusOf('edge', found)}, ${statusOf('isolate', remembered)}`;
  return { answer, source: level, cacheStatus };
}

/** Gives an answer when D1 has failed. Throws D1's error when no cached answer is young enough. */
function afterFailure(asked: Asked, atEdge: Cached | undefined, error: unknown): Given {
  // D1 may have taken seconds to fail: another request may have read the answer meanwhile.
  const remembered = asked.cache.findInMemory(asked.key);
  if (isFresh(remembered)) return hit(asked, remembered, undefined);
  if (isFresh(atEdge)) return hit(asked, atEdge, remembered);
  const older = youngestStale(remembered, atEdge);
  if (older === undefined) throw error;
  logFault('D1 failed: an older answer was given', error);
  return older;
}

/**
 * Gives the youngest stale answer; undefined when there is none. Memory may have evicted an answer that the edge cache
 * still has.
 */
function youngestStale(
  remembered: Cached | undefined,
  atEdge: Cached | undefined,
): Given | undefined {
  const [younger] = [remembered, atEdge]
    .filter((cached) => cached !== undefined)
    .filter(({ state }) => state === 'stale')
    .sort((a, b) => b.answer.readAt - a.answer.readAt);
  if (younger === undefined) return undefined;
  const cacheStatus = `${statusOf('edge', atEdge)}, ${statusOf('isolate', remembered)}`;
  return { answer: younger.answer, source: 'stale', cacheStatus };
}

/** Reads the answer from D1 into the cache. Never rejects. */
async function readIntoCache(asked: Asked, from?: D1SessionConstraint): Promise<Read> {
  const { c, key, cache } = asked;
  const read = await readAnswer(asked, from);
  if (read.kind === 'read') c.executionCtx.waitUntil(cache.put(c.req.url, key, read.answer));
  // Without this, a removed listing would be given again while D1 fails.
  if (read.kind === 'missing') c.executionCtx.waitUntil(cache.remove(c.req.url, key));
  return read;
}

/**
 * Reads the answer from D1. Never rejects. By default the nearest replica may answer: its lag is shorter than the age
 * of a cached answer.
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

/** Makes a 200, or a 304 when the client has the answer already. */
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
