/**
 * Caches responses of the feed in the isolate's memory, and in the edge cache of the data centre. How
 * fresh a response is depends on its version of the catalogue (versions.ts). Through the edge cache,
 * isolates share responses, and the confirmations of versions. Decoded addresses of both:
 *
 *     https://api.example.com/api/.feed/2/DEPLOYMENT 4 https://www.example.com confirmations
 *     https://api.example.com/api/.feed/2/DEPLOYMENT 4 https://www.example.com ["page",{…}]
 *
 * Here, 2 is the version of the entry format, and 4 the version of the rendering rules. The site and
 * the request follow.
 *
 * The edge cache (Cache API) may evict an entry at any time, has no compare-and-set, and does nothing
 * on a `workers.dev` address.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { logError } from '../http/log.ts';
import { formatRendering } from './render.ts';
import {
  type CatalogueVersion,
  CatalogueVersions,
  type Confirmation,
  type Freshness,
} from './versions.ts';

/** Version of the format of edge entries. Increase it when the format changes. */
const EDGE_FORM = 2;
const EDGE_DEADLINE_MS = 1_000;
const EDGE_RETENTION_SECONDS = 604_800;
const CONFIRMATIONS = 'confirmations';
const VERSION_HEADER = 'X-Catalogue-Version';
const TAG_BYTES = 16;
const ENTRY_OVERHEAD_BYTES = 512;
/** Largest share of the memory for one response. A larger response is cached only at the edge. */
const MAX_ENTRY_PART = 1 / 16;

export type FeedResponse = {
  version: CatalogueVersion;
  /** Absent for a missing listing. The body is a Blob, because a `Response` would copy plain bytes. */
  content?: { body: Blob; etag: string };
};

export type CachedResponse = {
  response: FeedResponse;
  freshness: Freshness;
  level: 'memory' | 'edge';
  /** Reason why the memory did not serve the response, for the parameter `fwd` of `Cache-Status` (RFC 9211). */
  memoryFwd: 'stale' | 'miss';
};

/** The cache of one isolate's feed. The key of a response is the JSON text of its request. */
export class FeedCache {
  readonly versions: CatalogueVersions;
  readonly #memory: LRUCache<string, FeedResponse>;
  /** Includes the site, because Workers of two sites could share entries if their deployments have no ids. */
  readonly #edgePrefix: string;
  readonly #isEnabled: boolean;

  constructor(deployment: string, config: Config) {
    const { feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl } = config;
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing, because no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      maxEntrySize: Math.max(1, Math.floor(feedMemoryBytes * MAX_ENTRY_PART)),
      sizeCalculation: ({ content }, key) =>
        (content?.body.size ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#edgePrefix = `${deployment} ${formatRendering(publicSiteUrl)}`;
    this.#isEnabled = feedCacheSeconds > 0;
    this.versions = new CatalogueVersions(feedCacheSeconds * 1_000, feedStaleSeconds * 1_000);
  }

  /** Finds the later of two responses: the response in memory and `edgeResponse`. */
  find(key: string, edgeResponse?: FeedResponse): CachedResponse | undefined {
    const { versions } = this;
    const memoryResponse = this.#memory.get(key);
    const memoryFwd = memoryResponse ? 'stale' : 'miss';
    const isEdgeLater =
      edgeResponse &&
      (!memoryResponse || versions.isLater(edgeResponse.version, memoryResponse.version));
    const response = isEdgeLater ? edgeResponse : memoryResponse;
    if (response === undefined) return undefined;
    const freshness = versions.getFreshness(response.version);
    return { response, freshness, level: isEdgeLater ? 'edge' : 'memory', memoryFwd };
  }

  putInMemory(key: string, response: FeedResponse): void {
    this.#memory.set(key, response);
  }

  /** Caches a response in both levels, and shares the confirmations. Never rejects. */
  async put(url: string, key: string, response: FeedResponse): Promise<void> {
    if (!this.#isEnabled) return;
    this.#memory.set(key, response);
    await this.shareConfirmations(url);
    const { version, content } = response;
    // Another isolate may have shared a newer version.
    if (this.versions.current?.id !== version.id) return;
    const headers = new Headers({ [VERSION_HEADER]: JSON.stringify(version) });
    if (content) headers.set('ETag', content.etag);
    await putAtEdge(this.#edgeAddress(url, key), content?.body ?? null, headers);
  }

  /** Finds a response at the edge, and adopts the shared confirmations. Never rejects. */
  async findAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    const lookup = Promise.all([
      readEntry(this.#edgeAddress(url, key)),
      this.#adoptConfirmations(url),
    ]);
    return (await withinEdgeDeadline(lookup))?.[0];
  }

  /**
   * Adopts the shared confirmations. Then shares this isolate's confirmations, unless the shared ones
   * are about as recent. Never rejects.
   */
  async shareConfirmations(url: string): Promise<void> {
    const shared = await withinEdgeDeadline(this.#adoptConfirmations(url));
    const confirmations = [...this.versions.confirmations.values()];
    const [current] = confirmations;
    if (current === undefined) return;
    const isRecent = Math.abs(current.at - (shared?.at ?? 0)) < this.versions.revalidationMs;
    if (isRecent && shared?.version.id === current.version.id) return;
    const address = this.#edgeAddress(url, CONFIRMATIONS);
    await putAtEdge(address, JSON.stringify(confirmations), new Headers());
  }

  /**
   * Adopts the shared confirmations. Returns the first, which confirms the version that was current
   * when shared.
   */
  async #adoptConfirmations(url: string): Promise<Confirmation | undefined> {
    const entry = await caches.default.match(this.#edgeAddress(url, CONFIRMATIONS));
    const shared = (await entry?.json<Confirmation[]>()) ?? [];
    this.versions.adopt(shared);
    return shared[0];
  }

  /** Returns an address in the request's own zone, as the Cache API requires. */
  #edgeAddress(url: string, name: string): string {
    // A URL cannot be parsed if the Host header is not a valid authority.
    const origin = URL.parse(url)?.origin ?? 'https://unknown.invalid';
    return `${origin}/api/.feed/${EDGE_FORM}/${encodeURIComponent(`${this.#edgePrefix} ${name}`)}`;
  }
}

async function readEntry(address: string): Promise<FeedResponse | undefined> {
  const entry = await caches.default.match(address);
  const version = entry?.headers.get(VERSION_HEADER);
  if (!entry || !version) return undefined;
  const etag = entry.headers.get('ETag');
  const content = etag ? { content: { body: await entry.blob(), etag } } : {};
  return { version: JSON.parse(version), ...content };
}

async function putAtEdge(address: string, body: BodyInit | null, headers: Headers): Promise<void> {
  headers.set('Cache-Control', `public, max-age=${EDGE_RETENTION_SECONDS}`);
  await withinEdgeDeadline(caches.default.put(address, new Response(body, { headers })));
}

/**
 * Returns the result of a call. If the call fails or is late, logs the error and returns undefined.
 * Never rejects.
 */
async function withinEdgeDeadline<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await withDeadline(call, EDGE_DEADLINE_MS, 'edge cache call');
  } catch (error) {
    logError('the edge cache failed', error);
    return undefined;
  }
}

/**
 * Makes a response with a strong `ETag`, because only identical bodies have the same tag (RFC 9110
 * section 8.8.3).
 */
export async function makeResponse(
  json: string | undefined,
  version: CatalogueVersion,
): Promise<FeedResponse> {
  if (json === undefined) return { version };
  const bytes = new TextEncoder().encode(json);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const etag = `"${digest.subarray(0, TAG_BYTES).toHex()}"`;
  return { version, content: { body: new Blob([bytes], { type: 'application/json' }), etag } };
}
