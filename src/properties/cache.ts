/**
 * The feed's cache: finished answers in two levels, the memory of this isolate and the edge cache of the data centre.
 * An answer is fresh for `FEED_CACHE_SECONDS` from its D1 read in both.
 *
 * The edge cache (Cache API) may evict an entry at any time, does nothing on a `workers.dev` address, and starts to
 * count an answer's age at the put, so an answer carries the time of its D1 read. Its addresses are looked up after
 * authentication only, and no route serves them. A fault of the edge cache is logged, and the request goes on without
 * it.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import { edgeAddressOf } from '../storage/edge-address.ts';
import { renderingOf } from './render.ts';

/** An answer is renewed in the background when this part of its time is over. */
const RENEWAL_PART = 3 / 4;
const EDGE_DEADLINE_MS = 1_000;
/** The header in which the edge cache keeps the time of the D1 read. */
const READ_AT = 'X-Read-At';
const TAG_BYTES = 16;
/** The rough size of an entry in memory besides its body and key: the objects that hold them. */
const ENTRY_OVERHEAD_BYTES = 512;

/** A finished answer: its bytes and their tag, made once and sent many times. */
export type Answer = {
  /** A Blob, because a response copies bytes once more. */
  body: Blob;
  /** The headers of a 200 and of a 304. */
  headers: Headers;
  etag: string;
  /** The time of the D1 read, in milliseconds since the epoch. */
  readAt: number;
};

/** A cached answer, its level and its state. */
export type Cached = {
  answer: Answer;
  level: 'memory' | 'edge';
  /**
   * `fresh`: the answer is given. `due`: it is given, and renewed in the background. `stale`: it is given only while D1
   * fails. `over`: it is too old to be given.
   */
  state: 'fresh' | 'due' | 'stale' | 'over';
  /** Whole seconds for which the answer stays fresh; negative afterwards. */
  ttlSeconds: number;
};

/** Makes the answer of a JSON text. */
export async function makeAnswer(json: string, readAt: number): Promise<Answer> {
  const bytes = new TextEncoder().encode(json);
  return answerOf(bytes, await etagOf(bytes), readAt);
}

/** An answer that is given without asking D1. */
export type Fresh = Cached & { state: 'fresh' | 'due' };

/** Reports whether an answer is given without asking D1. */
export function isFresh(cached: Cached | undefined): cached is Fresh {
  return cached?.state === 'fresh' || cached?.state === 'due';
}

/** Returns the entry of a level in `Cache-Status` (RFC 9211): a hit, or why the level did not give its answer. */
export function statusOf(level: 'isolate' | 'edge', cached: Cached | undefined): string {
  if (cached === undefined) return `${level}; fwd=miss`;
  return isFresh(cached) ? `${level}; hit; ttl=${cached.ttlSeconds}` : `${level}; fwd=stale`;
}

/** Both levels. Memory evicts the least recently used answers. */
export class FeedCache {
  readonly #memory: LRUCache<string, Answer>;
  /** Part of an edge address, because isolates with other rules or another site address share the edge cache. */
  readonly #rendering: string;
  readonly #freshMs: number;
  readonly #staleMs: number;

  constructor({ feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl }: Config) {
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no answer fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      sizeCalculation: (answer, key) => answer.body.size + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#rendering = renderingOf(publicSiteUrl);
    this.#freshMs = feedCacheSeconds * 1_000;
    this.#staleMs = feedStaleSeconds * 1_000;
  }

  /** Finds an answer in memory. */
  findInMemory(key: string): Cached | undefined {
    return this.#cachedAt('memory', this.#memory.get(key));
  }

  /** Finds an answer at the edge. Never rejects, and takes about a second at most. */
  async findAtEdge(requestUrl: string, key: string): Promise<Cached | undefined> {
    try {
      const looking = caches.default.match(this.#addressOf(requestUrl, key));
      const found = await withDeadline(looking, EDGE_DEADLINE_MS, 'edge cache read');
      const etag = found?.headers.get('ETag');
      const readAt = Number(found?.headers.get(READ_AT));
      if (found === undefined || !etag || !readAt) return undefined;
      const reading = found.arrayBuffer();
      const body = await withDeadline(reading, EDGE_DEADLINE_MS, 'edge cache body');
      return this.#cachedAt('edge', answerOf(body, etag, readAt));
    } catch (error) {
      logFault('the edge cache could not be read', error);
      return undefined;
    }
  }

  /** Caches an answer in memory, unless memory has a younger answer: reads of D1 may overtake each other. */
  remember(key: string, answer: Answer): void {
    if (answer.readAt >= (this.#memory.peek(key)?.readAt ?? 0)) this.#memory.set(key, answer);
  }

  /** Caches an answer in both levels. Never rejects. */
  async put(requestUrl: string, key: string, answer: Answer): Promise<void> {
    this.remember(key, answer);
    const { body, etag, readAt } = answer;
    const seconds = Math.max(this.#freshMs, this.#staleMs) / 1_000;
    const headers = {
      'Cache-Control': `public, max-age=${seconds}`,
      ETag: etag,
      [READ_AT]: String(readAt),
    };
    const address = this.#addressOf(requestUrl, key);
    await settle(caches.default.put(address, new Response(body, { headers })));
  }

  /** Removes an answer from both levels. Never rejects. */
  async remove(requestUrl: string, key: string): Promise<void> {
    this.#memory.delete(key);
    await settle(caches.default.delete(this.#addressOf(requestUrl, key)));
  }

  #addressOf(requestUrl: string, key: string): string {
    return edgeAddressOf(requestUrl, 'answers', `${this.#rendering} ${key}`);
  }

  #cachedAt(level: Cached['level'], answer: Answer | undefined): Cached | undefined {
    if (answer === undefined) return undefined;
    const ageMs = Date.now() - answer.readAt;
    const ttlSeconds = Math.floor((this.#freshMs - ageMs) / 1_000);
    const isStale = this.#staleMs > 0 && ageMs <= this.#staleMs;
    if (ageMs >= this.#freshMs) {
      return { answer, level, state: isStale ? 'stale' : 'over', ttlSeconds };
    }
    const isDue = ageMs >= this.#freshMs * RENEWAL_PART;
    return { answer, level, state: isDue ? 'due' : 'fresh', ttlSeconds };
  }
}

/** Makes the strong `ETag` of the bytes (RFC 9110 section 8.8.3): equal bytes have equal tags. */
async function etagOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `"${digest.subarray(0, TAG_BYTES).toHex()}"`;
}

/**
 * Reports whether the client already holds the representation. The comparison is weak, as RFC 9110 section 13.1.2 asks:
 * an intermediary that compresses an answer marks its tag `W/`.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Waits for a write to the edge cache. Never rejects: a fault is logged. */
async function settle(write: Promise<unknown>): Promise<void> {
  try {
    await withDeadline(write, EDGE_DEADLINE_MS, 'edge cache write');
  } catch (error) {
    logFault('the edge cache could not be written', error);
  }
}

/** Makes the answer of bytes whose tag is known. */
function answerOf(bytes: Uint8Array | ArrayBuffer, etag: string, readAt: number): Answer {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, etag, readAt };
}
