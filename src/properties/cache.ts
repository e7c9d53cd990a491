/**
 * The feed's cache: finished responses in two levels, the memory of this isolate and the edge cache
 * of the data centre. Their age counts from the D1 read.
 *
 * Reads of D1 may overtake each other, so both levels keep the times of the reads: an older
 * response never replaces a younger one. A removal, which is a read that found no listing, hides
 * each older response of the listing.
 *
 * The edge cache (Cache API) may evict an entry at any time, has no compare-and-set, and does
 * nothing on a `workers.dev` address. A fault of it is logged, and the request continues without
 * it.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { logFault } from '../http/log.ts';
import { renderingOf } from './render.ts';

/** A response is renewed after this part of its time. */
const RENEWAL_PART = 3 / 4;
const EDGE_DEADLINE_MS = 1_000;
/** The time of the D1 read: the edge cache itself counts an age from the put. */
const READ_AT = 'X-Read-At';
const TAG_BYTES = 16;
const ENTRY_OVERHEAD_BYTES = 512;
/** A larger response is cached at the edge only: it would evict many others. */
const MAX_ENTRY_PART = 1 / 16;
const MAX_READS = 5_000;

export type CacheKey = {
  url: string;
  response: string;
  /** The key of a removal, in all languages; undefined for a list. */
  removal: string | undefined;
};

export type FeedRead = { keys: ReadonlySet<string>; result: FeedResponse | Removal };

type Removal = { readAt: number; etag?: undefined; body?: undefined };

export type FeedResponse = {
  /** A Blob, because a response copies bytes once more. */
  body: Blob;
  /** The headers of a 200 and of a 304. */
  headers: Headers;
  etag: string;
  /** The time of the D1 read, in milliseconds since the epoch. */
  readAt: number;
};

export type CachedResponse = {
  response: FeedResponse;
  level: 'memory' | 'edge';
  /** `stale`: served only while D1 is slow or failed. `expired`: never served. */
  state: 'current' | 'renewing' | 'stale' | 'expired';
  /** The milliseconds until the response is stale; negative afterwards. */
  ttlMs: number;
};

export class FeedCache {
  readonly #memory: LRUCache<string, FeedResponse>;
  /** Key of a response or a removal → the time of its newest read. */
  readonly #readTimes = new LRUCache<string, number>({ max: MAX_READS });
  /** Part of an edge address, because versions with other rules share the edge cache. */
  readonly #rendering: string;
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor({ feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl }: Config) {
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      maxEntrySize: Math.max(1, Math.floor(feedMemoryBytes * MAX_ENTRY_PART)),
      sizeCalculation: ({ body }, key) => body.size + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#rendering = renderingOf(publicSiteUrl);
    this.#currentMs = feedCacheSeconds * 1_000;
    this.#staleMs = feedStaleSeconds * 1_000;
  }

  findInMemory(key: CacheKey): CachedResponse | undefined {
    const response = this.#memory.get(key.response);
    return response && this.#withState('memory', key, response);
  }

  /** Never rejects, and takes about two seconds at most. */
  async findAtEdge(key: CacheKey): Promise<CachedResponse | undefined> {
    try {
      const [found, removal] = await Promise.all([
        this.#matchAtEdge(key.url, key.response),
        key.removal && this.#matchAtEdge(key.url, key.removal),
      ]);
      if (key.removal && removal) this.remember(key.removal, { readAt: readAtOf(removal) });
      const etag = found?.headers.get('ETag');
      if (found === undefined || !etag) return undefined;
      const body = await withDeadline(found.arrayBuffer(), EDGE_DEADLINE_MS, 'edge cache body');
      return this.#withState('edge', key, responseOf(body, etag, readAtOf(found)));
    } catch (error) {
      logFault('the edge cache could not be read', error);
      return undefined;
    }
  }

  /** Caches a read in both levels. Never rejects. */
  async put(url: string, { keys, result }: FeedRead): Promise<void> {
    if (this.#currentMs === 0) return;
    const newest = [...keys].filter((key) => this.remember(key, result));
    await Promise.all(newest.map((key) => this.#putAtEdge(url, key, result)));
  }

  /** Caches a read in memory. Returns whether it is the newest read of the key. */
  remember(key: string, result: FeedRead['result']): boolean {
    if (result.readAt < (this.#readTimes.get(key) ?? 0)) return false;
    this.#readTimes.set(key, result.readAt);
    if (result.body) this.#memory.set(key, result);
    return true;
  }

  async #putAtEdge(url: string, key: string, { readAt, etag, body }: FeedRead['result']) {
    const seconds = Math.max(this.#currentMs, this.#staleMs) / 1_000;
    const headers = new Headers({
      'Cache-Control': `public, max-age=${seconds}`,
      [READ_AT]: String(readAt),
    });
    // An entry without a tag is a removal.
    if (etag) headers.set('ETag', etag);
    try {
      const known = await this.#matchAtEdge(url, key);
      if (known && readAt < readAtOf(known)) return;
      const writing = caches.default.put(
        this.#addressOf(url, key),
        new Response(body, { headers }),
      );
      await withDeadline(writing, EDGE_DEADLINE_MS, 'edge cache write');
    } catch (error) {
      logFault('the edge cache could not be written', error);
    }
  }

  #matchAtEdge(url: string, key: string): Promise<Response | undefined> {
    const looking = caches.default.match(this.#addressOf(url, key));
    return withDeadline(looking, EDGE_DEADLINE_MS, 'edge cache read');
  }

  /** The Cache API takes addresses of the request's zone. No route serves these. */
  #addressOf(url: string, key: string): string {
    // A URL cannot be parsed if the Host header is no valid authority.
    const origin = URL.parse(url)?.origin ?? 'https://unknown.invalid';
    return `${origin}/api/.feed/${encodeURIComponent(`${this.#rendering} ${key}`)}`;
  }

  /** Returns a response with its state; undefined if its listing was removed later. */
  #withState(
    level: CachedResponse['level'],
    { removal }: CacheKey,
    response: FeedResponse,
  ): CachedResponse | undefined {
    const removedAt = removal && this.#readTimes.get(removal);
    if (removedAt && response.readAt <= removedAt) return undefined;
    const ageMs = Date.now() - response.readAt;
    return { response, level, state: this.#stateAt(ageMs), ttlMs: this.#currentMs - ageMs };
  }

  #stateAt(ageMs: number): CachedResponse['state'] {
    if (ageMs < this.#currentMs * RENEWAL_PART) return 'current';
    if (ageMs < this.#currentMs) return 'renewing';
    return this.#staleMs > 0 && ageMs <= this.#staleMs ? 'stale' : 'expired';
  }
}

function readAtOf(found: Response): number {
  return Number(found.headers.get(READ_AT));
}

/** Makes a response with a strong `ETag` (RFC 9110 section 8.8.3): equal texts, equal tags. */
export async function makeResponse(json: string, readAt: number): Promise<FeedResponse> {
  const bytes = new TextEncoder().encode(json);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return responseOf(bytes, `"${digest.subarray(0, TAG_BYTES).toHex()}"`, readAt);
}

function responseOf(bytes: Uint8Array | ArrayBuffer, etag: string, readAt: number): FeedResponse {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, etag, readAt };
}
