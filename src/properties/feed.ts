/** Answers requests of the feed: from the cache, else from D1, else with an older answer. */

import type { Context } from 'hono';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault, note } from '../http/log.ts';
import { firstWithin } from '../storage/deadline.ts';
import { type Answer, makeAnswer, responseOf } from './answer.ts';
import { type Cached, type FeedCache, feedCacheFor } from './cache.ts';
import { type CacheUse, cacheStatusOf, forwardedFor } from './cache-status.ts';
import { createMemoryCache, type MemoryCache } from './memory-cache.ts';
import { renderingOf } from './render.ts';
import { Renewals } from './renewals.ts';
import { type FeedRequest, load } from './request.ts';

/** D1 is asked beside the edge cache when that has not answered by then. */
const EDGE_HEAD_START_MS = 20;

type Outcome =
  | {
      kind: 'found';
      answer: Answer;
      source: 'memory' | 'edge' | 'database' | 'stale';
      /** The value of `Cache-Status`. */
      cacheStatus: string;
    }
  | { kind: 'missing' };

/** The means to answer a request: its key in the cache, and the read of D1. */
type Job = {
  key: string;
  cache: FeedCache;
  read: () => Promise<Read>;
  inBackground: (work: Promise<unknown>) => void;
};

type Read =
  | { kind: 'read'; answer: Answer }
  | { kind: 'missing' }
  | { kind: 'failed'; error: unknown };

type Fresh = Extract<Cached, { kind: 'fresh' }>;

const BYPASS: CacheUse = { kind: 'forwarded', because: 'bypass' };

/**
 * Makes a function that answers requests of the feed with 200, 304 or 404. The function has a memory
 * of its own, and throws what D1 throws when no cached answer is young enough to stand in.
 */
export function createFeed() {
  let memory: MemoryCache | undefined;
  const renewals = new Renewals();
  return async function answer(c: Context<AppEnv>, request: FeedRequest): Promise<Response> {
    memory ??= createMemoryCache(configOf(c.env).feedMemoryBytes);
    const { publicSiteUrl } = configOf(c.env);
    const cache = feedCacheFor(c, memory);
    const read = () => readAnswer(c.env.DB, publicSiteUrl, request);
    const key = `${renderingOf(publicSiteUrl)} ${JSON.stringify(request)}`;
    const inBackground = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
    const outcome =
      cache === undefined
        ? await readUncached(read)
        : await findAnswer({ key, cache, read, inBackground }, renewals);
    if (outcome.kind === 'missing') throw noSuchProperty();
    note({ cache: outcome.source });
    const response = responseOf(outcome.answer, c.req.header('If-None-Match'));
    response.headers.set('Cache-Status', outcome.cacheStatus);
    if (outcome.source === 'stale') {
      const ageMs = Date.now() - outcome.answer.readAt;
      response.headers.set('Age', String(Math.floor(ageMs / 1_000)));
    }
    return response;
  };
}

/** Returns the 404 for a listing that is hidden or unknown, and for a name that no listing can have. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

/** Reads the answer while `FEED_CACHE_SECONDS` is 0. */
async function readUncached(read: () => Promise<Read>): Promise<Outcome> {
  const outcome = await read();
  switch (outcome.kind) {
    case 'missing':
      return outcome;
    case 'failed':
      throw outcome.error;
    case 'read':
      return {
        kind: 'found',
        answer: outcome.answer,
        source: 'database',
        cacheStatus: cacheStatusOf(BYPASS, BYPASS),
      };
  }
}

async function findAnswer(job: Job, renewals: Renewals): Promise<Outcome> {
  const { key, cache, inBackground } = job;
  const remembered = cache.findInMemory(key);
  if (remembered.kind === 'fresh') {
    renewWhenDue(job, remembered.answer, renewals);
    return hitInMemory(cache, remembered.answer);
  }

  const asking = cache.findAtEdge(key);
  const atEdge = await firstWithin(asking, EDGE_HEAD_START_MS);
  if (atEdge?.kind === 'fresh') {
    renewWhenDue(job, atEdge.answer, renewals);
    return hitAtEdge(cache, atEdge.answer, remembered);
  }

  // The read goes on when the edge cache is faster: its answer is cached.
  const reading = readAndCache(job, { remembered, atEdge });
  inBackground(reading);
  const lateHit = asking.then((found): Read | Fresh | Promise<Read> =>
    found.kind === 'fresh' ? found : reading,
  );
  const first = await Promise.race([reading, lateHit]);
  switch (first.kind) {
    case 'missing':
      return first;
    case 'fresh':
      return hitAtEdge(cache, first.answer, remembered);
    case 'read':
      return {
        kind: 'found',
        answer: first.answer,
        source: 'database',
        cacheStatus: cacheStatusOf(forwardedFor(remembered), forwardedFor(atEdge)),
      };
    case 'failed':
      return findStandIn(job, await asking, first.error);
  }
}

/**
 * Finds the answer when D1 has failed: the younger one of both levels, because memory may be too small for
 * it. Throws D1's error when no cached answer is young enough.
 */
function findStandIn({ key, cache }: Job, atEdge: Cached, error: unknown): Outcome {
  // D1 may have taken seconds to fail: another request may have read the answer meanwhile.
  const remembered = cache.findInMemory(key);
  if (remembered.kind === 'fresh') return hitInMemory(cache, remembered.answer);
  if (atEdge.kind === 'fresh') return hitAtEdge(cache, atEdge.answer, remembered);
  const answer = youngestOf(remembered, atEdge);
  if (answer === undefined || !cache.mayStandIn(answer)) throw error;
  logFault('D1 failed: an older answer was given', error);
  return {
    kind: 'found',
    answer,
    source: 'stale',
    cacheStatus: cacheStatusOf(forwardedFor(remembered), forwardedFor(atEdge)),
  };
}

function youngestOf(...levels: Cached[]): Answer | undefined {
  const answers = levels.flatMap((level) => (level.kind === 'absent' ? [] : [level.answer]));
  const [youngest] = answers.sort((a, b) => b.readAt - a.readAt);
  return youngest;
}

function hitInMemory(cache: FeedCache, answer: Answer): Outcome {
  const hit = { kind: 'hit', ttlSeconds: cache.ttlOf(answer) } as const;
  return { kind: 'found', answer, source: 'memory', cacheStatus: cacheStatusOf(hit) };
}

function hitAtEdge(cache: FeedCache, answer: Answer, remembered: Cached): Outcome {
  const hit = { kind: 'hit', ttlSeconds: cache.ttlOf(answer) } as const;
  const cacheStatus = cacheStatusOf(forwardedFor(remembered), hit);
  return { kind: 'found', answer, source: 'edge', cacheStatus };
}

/** Renews an answer in the background when most of its time is over, unless another request does. */
function renewWhenDue(job: Job, answer: Answer, renewals: Renewals): void {
  if (!job.cache.isDueForRenewal(answer) || !renewals.begin(job.key, Date.now())) return;
  job.inBackground(renew(job, renewals));
}

async function renew(job: Job, renewals: Renewals): Promise<void> {
  const { key, cache } = job;
  // Another isolate may have renewed it.
  const atEdge = await cache.findAtEdge(key);
  if (atEdge.kind === 'absent' || cache.isDueForRenewal(atEdge.answer)) {
    const remembered = cache.findInMemory(key);
    const outcome = await readAndCache(job, { remembered, atEdge });
    if (outcome.kind === 'failed') {
      logFault('D1 failed: an answer could not be renewed', outcome.error);
      return;
    }
  }
  renewals.end(key);
}

/** Reads the answer from D1 into the cache. Never rejects. */
async function readAndCache(
  { key, cache, read }: Job,
  known: { remembered: Cached; atEdge: Cached | undefined },
): Promise<Read> {
  const outcome = await read();
  const isNowhere = known.remembered.kind === 'absent' && known.atEdge?.kind === 'absent';
  if (outcome.kind === 'read') cache.put(key, outcome.answer);
  // Otherwise a removed listing would come back once D1 fails.
  if (outcome.kind === 'missing' && !isNowhere) cache.forget(key);
  return outcome;
}

async function readAnswer(
  database: D1Database,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<Read> {
  const readAt = Date.now();
  try {
    const json = await load(database, publicSiteUrl, request);
    if (json === undefined) return { kind: 'missing' };
    return { kind: 'read', answer: await makeAnswer(json, readAt) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}
