/**
 * The feed's cache: the latest response to each request in two levels, the memory of this isolate
 * and the edge cache of the data centre. A response has the version of the catalogue that it shows
 * (versions.ts), which tells its age, even after several imports. At the edge, the isolates share
 * their checks too. An address there, decoded here, names the deployment, the rules of rendering,
 * the site, and the request:
 *
 *     https://api.example.com/api/.feed/2/DEPLOYMENT 4 https://www.example.com checks
 *     https://api.example.com/api/.feed/2/DEPLOYMENT 4 https://www.example.com ["page",{…}]
 *
 * The edge cache (Cache API) may evict an entry at any time, has no compare-and-set, and does
 * nothing on a `workers.dev` address.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { logError } from '../http/log.ts';
import { formatRendering } from './render.ts';
import {
  type CatalogueVersion,
  CatalogueVersions,
  type Check,
  type Freshness,
} from './versions.ts';

/** Raise it when an entry of the edge cache gets another form. */
const EDGE_FORM = 2;
const EDGE_DEADLINE_MS = 1_000;
const EDGE_SECONDS = 604_800;
const VERSION_HEADER = 'X-Catalogue-Version';
const TAG_BYTES = 16;
const ENTRY_OVERHEAD_BYTES = 512;
/** A larger response is cached at the edge only. */
const MAX_ENTRY_PART = 1 / 16;

/** A missing listing has no content. A Blob, because a `Response` copies plain bytes once more. */
export type FeedResponse = { version: CatalogueVersion; content?: { body: Blob; etag: string } };

type CachedResponse = Freshness & {
  response: FeedResponse;
  level: 'memory' | 'edge';
  /** Why memory did not serve the request, as in RFC 9211. */
  memoryFwd: 'stale' | 'miss';
};

/** For all requests of an isolate. A key is the JSON text of a request. */
export class FeedCache {
  readonly versions: CatalogueVersions;
  readonly #memory: LRUCache<string, FeedResponse>;
  /** Has the site: without ids of deployments, Workers for two sites may share entries. */
  readonly #edgePrefix: string;
  readonly #currentMs: number;

  constructor(deployment: string, config: Config) {
    const { feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl } = config;
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      maxEntrySize: Math.max(1, Math.floor(feedMemoryBytes * MAX_ENTRY_PART)),
      sizeCalculation: ({ content }, key) =>
        (content?.body.size ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#edgePrefix = `${deployment} ${formatRendering(publicSiteUrl)}`;
    this.#currentMs = feedCacheSeconds * 1_000;
    this.versions = new CatalogueVersions(this.#currentMs, feedStaleSeconds * 1_000);
  }

  /** Finds the response of the later version: in memory, or the one that the edge cache returned. */
  find(key: string, atEdge?: FeedResponse): CachedResponse | undefined {
    const inMemory = this.#memory.get(key);
    const { versions } = this;
    const isEdgeLater = atEdge && (!inMemory || versions.isLater(atEdge.version, inMemory.version));
    const response = isEdgeLater ? atEdge : inMemory;
    if (response === undefined) return undefined;
    const level = isEdgeLater ? 'edge' : 'memory';
    const memoryFwd = inMemory ? 'stale' : 'miss';
    return { response, level, memoryFwd, ...versions.judge(response.version) };
  }

  /** Keeps a response of the edge cache in memory. */
  remember(key: string, response: FeedResponse): void {
    this.#memory.set(key, response);
  }

  /** Caches a response in both levels, and shares the checks. Never rejects. */
  async put(url: string, key: string, response: FeedResponse): Promise<void> {
    if (this.#currentMs === 0) return;
    this.#memory.set(key, response);
    await this.shareChecks(url);
    const { version, content } = response;
    // Another isolate has shared a newer version.
    if (this.versions.current?.id !== version.id) return;
    const headers = new Headers({ [VERSION_HEADER]: JSON.stringify(version) });
    if (content) headers.set('ETag', content.etag);
    await putAtEdge(this.#edgeAddress(url, key), content?.body ?? null, headers);
  }

  /** Finds a response, and learns the shared checks. Never rejects. */
  async findAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    const lookup = Promise.all([readEntry(this.#edgeAddress(url, key)), this.#learnChecks(url)]);
    return (await withinEdgeDeadline(lookup))?.[0];
  }

  /** Learns the shared checks, and shares its own unless the shared ones are recent. Never rejects. */
  async shareChecks(url: string): Promise<void> {
    const shared = await withinEdgeDeadline(this.#learnChecks(url));
    const checks = [...this.versions.checks.values()];
    const [current] = checks;
    if (current === undefined) return;
    const isRecent = Math.abs(current.at - (shared?.at ?? 0)) < this.versions.renewalMs;
    if (isRecent && shared?.version.id === current.version.id) return;
    await putAtEdge(this.#edgeAddress(url, 'checks'), JSON.stringify(checks), new Headers());
  }

  /** Returns the shared check of the current version. */
  async #learnChecks(url: string): Promise<Check | undefined> {
    const entry = await caches.default.match(this.#edgeAddress(url, 'checks'));
    const shared = (await entry?.json<Check[]>()) ?? [];
    this.versions.learn(shared);
    return shared[0];
  }

  /** In the request's zone, as the Cache API asks. */
  #edgeAddress(url: string, name: string): string {
    // A URL cannot be parsed if the Host header is no valid authority.
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
  headers.set('Cache-Control', `public, max-age=${EDGE_SECONDS}`);
  await withinEdgeDeadline(caches.default.put(address, new Response(body, { headers })));
}

/** Logs a fault, and never rejects. */
async function withinEdgeDeadline<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await withDeadline(call, EDGE_DEADLINE_MS, 'edge cache call');
  } catch (error) {
    logError('the edge cache failed', error);
    return undefined;
  }
}

/** Makes a response with a strong `ETag` (RFC 9110 section 8.8.3): equal texts, equal tags. */
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
