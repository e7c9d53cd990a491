/**
 * The feed's cache: finished responses in two levels, the memory of this isolate and the edge cache of the data centre.
 * The age of a response counts from its D1 read, in both.
 *
 * Reads of D1 may overtake each other. So each level keeps the newest read of a key, also if this read found no listing:
 * an older read replaces neither a response nor a removal.
 *
 * The edge cache (Cache API) may evict an entry at any time, and does nothing on a `workers.dev` address. No route serves
 * its addresses. A fault of the edge cache is logged, and the request continues without it.
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

export type FeedResponse = {
  /** A Blob, because a response copies bytes once more. */
  body: Blob;
  /** The headers of a 200 and of a 304. */
  headers: Headers;
  etag: string;
  /** The time of the D1 read, in milliseconds since the epoch. */
  readAt: number;
};

/** The newest read of a key. It has no response if it found no listing, or if its response is too large. */
type MemoryEntry = { readAt: number; response: FeedResponse | undefined };

export type CachedResponse = {
  response: FeedResponse;
  level: 'memory' | 'edge';
  /** `stale`: served only while D1 is slow or failed. `expired`: never served. */
  state: 'current' | 'renewing' | 'stale' | 'expired';
  /** The milliseconds until the response is stale; negative afterwards. */
  ttlMs: number;
};

export class FeedCache {
  readonly #memory: LRUCache<string, MemoryEntry>;
  readonly #maxEntryBytes: number;
  /** Part of an edge address: isolates with other rules or another site address share the edge cache. */
  readonly #rendering: string;
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor({ feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl }: Config) {
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      sizeCalculation: sizeOf,
    });
    this.#maxEntryBytes = feedMemoryBytes * MAX_ENTRY_PART;
    this.#rendering = renderingOf(publicSiteUrl);
    this.#currentMs = feedCacheSeconds * 1_000;
    this.#staleMs = feedStaleSeconds * 1_000;
  }

  findInMemory(key: string): CachedResponse | undefined {
    const response = this.#memory.get(key)?.response;
    return response && this.#cached('memory', response);
  }

  /** Never rejects, and takes about two seconds at most. */
  async findAtEdge(requestUrl: string, key: string): Promise<CachedResponse | undefined> {
    try {
      const found = await this.#matchAtEdge(requestUrl, key);
      const etag = found?.headers.get('ETag');
      if (found === undefined || !etag) return undefined;
      const body = await withDeadline(found.arrayBuffer(), EDGE_DEADLINE_MS, 'edge cache body');
      return this.#cached('edge', responseOf(body, etag, readAtOf(found)));
    } catch (error) {
      logFault('the edge cache could not be read', error);
      return undefined;
    }
  }

  /** Caches a response of the edge cache in memory. */
  remember(key: string, response: FeedResponse): void {
    this.#remember(key, { readAt: response.readAt, response });
  }

  /** Caches the response of a read in both levels, or that the read found no listing. Never rejects. */
  async put(
    requestUrl: string,
    key: string,
    readAt: number,
    response: FeedResponse | undefined,
  ): Promise<void> {
    if (this.#currentMs === 0 || !this.#remember(key, { readAt, response })) return;
    const seconds = Math.max(this.#currentMs, this.#staleMs) / 1_000;
    const headers = new Headers({
      'Cache-Control': `public, max-age=${seconds}`,
      [READ_AT]: String(readAt),
    });
    // An entry without a tag is a removal.
    if (response !== undefined) headers.set('ETag', response.etag);
    try {
      if (readAt < readAtOf(await this.#matchAtEdge(requestUrl, key))) return;
      const address = this.#addressOf(requestUrl, key);
      const writing = caches.default.put(address, new Response(response?.body, { headers }));
      await withDeadline(writing, EDGE_DEADLINE_MS, 'edge cache write');
    } catch (error) {
      logFault('the edge cache could not be written', error);
    }
  }

  /** Returns whether memory has no newer read of the key. */
  #remember(key: string, entry: MemoryEntry): boolean {
    const { readAt } = entry;
    if (readAt < (this.#memory.peek(key)?.readAt ?? 0)) return false;
    const isTooLarge = sizeOf(entry, key) > this.#maxEntryBytes;
    this.#memory.set(key, isTooLarge ? { readAt, response: undefined } : entry);
    return true;
  }

  #matchAtEdge(requestUrl: string, key: string): Promise<Response | undefined> {
    const looking = caches.default.match(this.#addressOf(requestUrl, key));
    return withDeadline(looking, EDGE_DEADLINE_MS, 'edge cache read');
  }

  /** The Cache API takes addresses of the request's own zone. The platform caches nothing else under /api. */
  #addressOf(requestUrl: string, key: string): string {
    // A URL cannot be parsed if the Host header is no valid authority.
    const origin = URL.parse(requestUrl)?.origin ?? 'https://unknown.invalid';
    return `${origin}/api/.feed/${encodeURIComponent(`${this.#rendering} ${key}`)}`;
  }

  #cached(level: CachedResponse['level'], response: FeedResponse): CachedResponse {
    const ageMs = Date.now() - response.readAt;
    return { response, level, state: this.#stateAt(ageMs), ttlMs: this.#currentMs - ageMs };
  }

  #stateAt(ageMs: number): CachedResponse['state'] {
    if (ageMs < this.#currentMs * RENEWAL_PART) return 'current';
    if (ageMs < this.#currentMs) return 'renewing';
    return this.#staleMs > 0 && ageMs <= this.#staleMs ? 'stale' : 'expired';
  }
}

function sizeOf({ response }: MemoryEntry, key: string): number {
  return (response?.body.size ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES;
}

function readAtOf(found: Response | undefined): number {
  return Number(found?.headers.get(READ_AT));
}

/** Makes the response of a JSON text, with a strong `ETag` (RFC 9110 section 8.8.3): equal texts have equal tags. */
export async function makeResponse(json: string, readAt: number): Promise<FeedResponse> {
  const bytes = new TextEncoder().encode(json);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return responseOf(bytes, `"${digest.subarray(0, TAG_BYTES).toHex()}"`, readAt);
}

function responseOf(bytes: Uint8Array | ArrayBuffer, etag: string, readAt: number): FeedResponse {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, etag, readAt };
}

/**
 * Reports whether the client has the response already. An intermediary that compresses a response marks its tag `W/`,
 * so the comparison is weak (RFC 9110 section 13.1.2).
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
