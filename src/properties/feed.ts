/** Answers requests of the feed: from the cache, else from D1, else with an older answer. */

import type { Context } from 'hono';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault } from '../http/log.ts';
import { type Answer, makeAnswer, responseOf } from './answer.ts';
import { type FeedCache, feedCacheFor } from './cache.ts';
import { createMemoryCache, type MemoryCache } from './memory-cache.ts';
import { renderingOf } from './render.ts';
import { type FeedRequest, load } from './request.ts';

type Outcome =
  | { kind: 'fresh'; answer: Answer }
  /** D1 failed. The age counts from the answer's own D1 read. */
  | { kind: 'stale'; answer: Answer; ageSeconds: number }
  | { kind: 'missing' };

/**
 * Makes a function that answers requests of the feed with 200, 304 or 404. The function has a memory
 * of its own, and throws what D1 throws when no cached answer is young enough to stand in.
 */
export function createFeed() {
  let memory: MemoryCache | undefined;
  return async function answer(c: Context<AppEnv>, request: FeedRequest): Promise<Response> {
    memory ??= createMemoryCache(configOf(c.env).feedMemoryBytes);
    const outcome = await findAnswer(c, request, feedCacheFor(c, memory));
    if (outcome.kind === 'missing') throw noSuchProperty();
    const response = responseOf(outcome.answer, c.req.header('If-None-Match'));
    if (outcome.kind === 'stale') response.headers.set('Age', String(outcome.ageSeconds));
    return response;
  };
}

/** Returns the 404 for a listing that is hidden or unknown, and for a name that no listing can have. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

async function findAnswer(
  c: Context<AppEnv>,
  request: FeedRequest,
  cache: FeedCache,
): Promise<Outcome> {
  const { publicSiteUrl, feedStaleSeconds } = configOf(c.env);
  const key = `${renderingOf(publicSiteUrl)} ${JSON.stringify(request)}`;
  const cached = await cache.find(key);
  if (cached.kind === 'fresh') return cached;

  const read = await readAnswer(c.env.DB, publicSiteUrl, request);
  switch (read.kind) {
    case 'fresh':
      cache.put(key, read.answer);
      return read;
    case 'missing':
      // Otherwise a removed listing would come back once D1 fails.
      if (cached.kind === 'expired') cache.forget(key);
      return read;
    case 'failed': {
      if (cached.kind === 'absent') throw read.error;
      // D1 may have taken seconds to fail.
      const ageMs = Date.now() - cached.answer.readAt;
      if (feedStaleSeconds === 0 || ageMs > feedStaleSeconds * 1_000) throw read.error;
      logFault('D1 failed: an older answer was given', read.error);
      return { kind: 'stale', answer: cached.answer, ageSeconds: Math.floor(ageMs / 1_000) };
    }
  }
}

type Read = Exclude<Outcome, { kind: 'stale' }> | { kind: 'failed'; error: unknown };

async function readAnswer(
  database: D1Database,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<Read> {
  const readAt = Date.now();
  try {
    const json = await load(database, publicSiteUrl, request);
    if (json === undefined) return { kind: 'missing' };
    return { kind: 'fresh', answer: await makeAnswer(json, readAt) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}
