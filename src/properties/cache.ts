/**
 * The feed's cache: finished responses in two levels, the memory of this isolate and the edge cache
 * of the data centre. The key of an entry has the version of the catalogue, e.g.
 *
 *     9b8305d194e26a0a92b55a6485c3e2c7 12 7c1d2c0e-…    generation, number, id of the import
 *
 * and at the edge the version of the Worker. So an entry never changes. It is current while it has
 * the known version of the catalogue, and while the last check of this version is recent. An import
 * that changes a response raises the number. After a rewind (Time Travel), until `after-time-travel`
 * begins a new generation, two imports may have raised it to the same number. Across generations,
 * the primary decides.
 *
 * The edge cache (Cache API) may evict an entry at any time, has no compare-and-set, and does
 * nothing on a `workers.dev` address.
 */

import { LRUCache } from 'lru-cache';
import type { Config } from '../config.ts';
import { withDeadline } from '../deadline.ts';
import { logFault } from '../http/log.ts';
import { formatRendering } from './render.ts';

/** Of a check's lifetime, `FEED_CACHE_SECONDS`. */
const RENEWAL_PART = 3 / 4;
/** The clocks of two machines differ by less. */
const MAX_CLOCK_SKEW_MS = 5_000;
const EDGE_DEADLINE_MS = 1_000;
const EDGE_SECONDS = 604_800;
/** The header with the known version, in the edge entry that shares it. */
const KNOWN_VERSION = 'X-Known-Version';
const TAG_BYTES = 16;
const ENTRY_OVERHEAD_BYTES = 512;
/** A larger response is cached at the edge only. */
const MAX_ENTRY_PART = 1 / 16;

/** A version, and the start of the last read that found it, in milliseconds since the epoch. */
type Check = { version: string; at: number };

/** The current version, and the one before it. */
type KnownVersion = Check & { former?: Check | undefined };

/** A missing listing has no body. A Blob, because a `Response` copies plain bytes once more. */
export type FeedResponse = { version: string } & (
  | { body: Blob; headers: Headers }
  | { body?: never; headers?: never }
);

export type CachedResponse = {
  response: FeedResponse;
  level: 'memory' | 'edge';
  /** `due`: current, and the check has to be renewed. `stale`: served while D1 is slow or failed. */
  state: 'current' | 'due' | 'stale' | 'expired';
  /** Until the response is stale; negative afterwards. */
  ttlMs: number;
  /** Of the check. */
  ageMs: number;
};

/** For all requests of an isolate. A key is the JSON text of a request. */
export class FeedCache {
  #known: KnownVersion | undefined;
  #lastShared: Check = { version: '', at: 0 };
  readonly #memory: LRUCache<string, FeedResponse>;
  /** Without a deployment's id, Workers for different sites may share a version. */
  readonly #edgePrefix: string;
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor(workerVersion: string, config: Config) {
    const { feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl } = config;
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      maxEntrySize: Math.max(1, Math.floor(feedMemoryBytes * MAX_ENTRY_PART)),
      sizeCalculation: ({ body }, key) => (body?.size ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#edgePrefix = `${workerVersion} ${formatRendering(publicSiteUrl)}`;
    this.#currentMs = feedCacheSeconds * 1_000;
    this.#staleMs = feedStaleSeconds * 1_000;
  }

  /**
   * Finds the response of the current version, else of the former one, in memory or in what the
   * edge cache returned.
   */
  find(key: string, edge?: FeedResponse): CachedResponse | undefined {
    for (const check of [this.#known, this.#known?.former]) {
      if (check === undefined) return undefined;
      const inMemory = this.#memory.get(`${check.version} ${key}`);
      if (inMemory) return { response: inMemory, level: 'memory', ...this.#judge(check) };
      if (edge?.version === check.version)
        return { response: edge, level: 'edge', ...this.#judge(check) };
    }
    return undefined;
  }

  #judge(check: Check): Pick<CachedResponse, 'state' | 'ttlMs' | 'ageMs'> {
    const ageMs = Date.now() - check.at;
    const ttlMs = this.#currentMs - ageMs;
    if (check === this.#known && !this.#hasEnded(check)) {
      return { state: this.#hasEnded(check, RENEWAL_PART) ? 'due' : 'current', ttlMs, ageMs };
    }
    const state = ageMs <= this.#staleMs ? 'stale' : 'expired';
    // Negative also for the former version, whose check may be recent.
    return { state, ttlMs: Math.min(-1, ttlMs), ageMs };
  }

  /** Keeps a response in memory. */
  remember(key: string, response: FeedResponse): void {
    this.#memory.set(`${response.version} ${key}`, response);
  }

  /** Caches a response in both levels, and shares the known version. Never rejects. */
  async put(url: string, key: string, response: FeedResponse): Promise<void> {
    if (this.#currentMs === 0) return;
    this.remember(key, response);
    const { version, body, headers } = response;
    const address = this.#edgeAddress(url, version, key);
    await Promise.all([putAtEdge(address, body, headers), this.shareVersion(url)]);
  }

  /**
   * Reads D1, and learns the version. A replica may lag: a read that finds neither the current
   * version nor a newer one is repeated at the primary, which decides. Throws D1's error.
   */
  async read<Result extends { version: string }>(
    database: D1Database,
    query: (session: D1DatabaseSession) => Promise<Result>,
    constraint: D1SessionConstraint = 'first-unconstrained',
  ): Promise<Result> {
    const before = this.#known?.version;
    const at = Date.now();
    const result = await query(database.withSession(constraint));
    const { version } = result;
    const current = this.#known?.version;
    // The primary does not decide if another read changed the current version meanwhile.
    const isDecided = constraint === 'first-primary' && current === before;
    if (version !== current && !this.#isNewer(version) && !isDecided) {
      return this.read(database, query, 'first-primary');
    }
    this.#learn({ version, at });
    return result;
  }

  /**
   * Finds a response of a known version. Learns the shared version if the isolate's check is due:
   * first if the check has ended, because the address of a response has a version. Never rejects.
   */
  findAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    return withinEdgeDeadline(this.#readAtEdge(url, key));
  }

  async #readAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    const isDue = this.#hasEnded(this.#known, RENEWAL_PART);
    const learning = isDue ? this.#learnShared(url) : undefined;
    if (this.#hasEnded(this.#known)) await learning;
    const [response] = await Promise.all([this.#matchKnown(url, key), learning]);
    return response;
  }

  async #matchKnown(url: string, key: string): Promise<FeedResponse | undefined> {
    for (const check of [this.#known, this.#known?.former]) {
      if (check === undefined) return undefined;
      const { version } = check;
      const entry = await caches.default.match(this.#edgeAddress(url, version, key));
      // A missing listing has no ETag.
      const etag = entry?.headers.get('ETag');
      if (entry)
        return etag ? buildResponse(await entry.arrayBuffer(), etag, version) : { version };
    }
    return undefined;
  }

  /** Shares the known version, unless this isolate did so recently. Never rejects. */
  async shareVersion(url: string): Promise<void> {
    const known = this.#known;
    if (known === undefined) return;
    const { version, at } = this.#lastShared;
    const isRecent = Math.abs(known.at - at) < this.#currentMs * (1 - RENEWAL_PART);
    if (version === known.version && isRecent) return;
    this.#lastShared = known;
    await withinEdgeDeadline(this.#learnShared(url));
    // Another isolate has shared a newer version.
    if (this.#known?.version !== known.version) return;
    const headers = new Headers({ [KNOWN_VERSION]: JSON.stringify(known) });
    await putAtEdge(this.#edgeAddress(url), undefined, headers);
  }

  async #learnShared(url: string): Promise<void> {
    const entry = await caches.default.match(this.#edgeAddress(url));
    const shared: KnownVersion | null = JSON.parse(entry?.headers.get(KNOWN_VERSION) ?? 'null');
    if (shared === null) return;
    const known = this.#known;
    // A time in the future is from a clock that was set back since.
    const at = shared.at > Date.now() + MAX_CLOCK_SKEW_MS ? 0 : shared.at;
    if (shared.version === known?.version) {
      this.#learn({ version: shared.version, at: Math.max(at, known.at) });
      return;
    }
    // A check that has ended may be of a version that a rewind undid: it replaces no recent one.
    const mayReplace = !this.#hasEnded({ ...shared, at }) || this.#hasEnded(known);
    if (mayReplace && this.#isNewer(shared.version)) this.#learn({ ...shared, at });
  }

  #learn({ version, at, former }: KnownVersion): void {
    const known = this.#known;
    if (known === undefined) this.#known = { version, at, former };
    else if (known.version === version) this.#known = { ...known, at };
    else this.#known = { version, at, former: { version: known.version, at: known.at } };
  }

  /** Whether a version is of the current generation, and newer than the known ones of it. */
  #isNewer(version: string): boolean {
    if (this.#known === undefined) return true;
    const [generation, number] = version.split(' ');
    const known = [this.#known, this.#known.former].map((check) => check?.version.split(' ') ?? []);
    if (known[0]?.[0] !== generation) return false;
    return known.every(
      ([own, ownNumber]) => own !== generation || Number(ownNumber) < Number(number),
    );
  }

  /** In the request's zone, as the Cache API asks. Without a version, that of the shared one. */
  #edgeAddress(url: string, version = 'known', key = ''): string {
    // A URL cannot be parsed if the Host header is no valid authority.
    const origin = URL.parse(url)?.origin ?? 'https://unknown.invalid';
    return `${origin}/api/.feed/${encodeURIComponent(`${this.#edgePrefix} ${version} ${key}`)}`;
  }

  /** Whether a part of the check's lifetime has ended. Also if the clock was set back since. */
  #hasEnded(check: Check | undefined, part = 1): boolean {
    const ageMs = Date.now() - (check?.at ?? 0);
    return ageMs < -MAX_CLOCK_SKEW_MS || ageMs >= this.#currentMs * part;
  }
}

async function putAtEdge(address: string, body?: Blob, headers?: Headers): Promise<void> {
  const stored = new Headers(headers);
  stored.set('Cache-Control', `public, max-age=${EDGE_SECONDS}`);
  const entry = new Response(body ?? null, { headers: stored });
  await withinEdgeDeadline(caches.default.put(address, entry));
}

/** Logs a fault, and never rejects. */
function withinEdgeDeadline<T>(call: Promise<T>): Promise<T | undefined> {
  return withDeadline(call, EDGE_DEADLINE_MS, 'edge cache call').catch(logEdgeFault);
}

function logEdgeFault(error: unknown): undefined {
  logFault('the edge cache failed', error);
}

/** Makes a response with a strong `ETag` (RFC 9110 section 8.8.3): equal texts, equal tags. */
export async function makeResponse(
  json: string | undefined,
  version: string,
): Promise<FeedResponse> {
  if (json === undefined) return { version };
  const bytes = new TextEncoder().encode(json);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return buildResponse(bytes, `"${digest.subarray(0, TAG_BYTES).toHex()}"`, version);
}

function buildResponse(
  bytes: Uint8Array | ArrayBuffer,
  etag: string,
  version: string,
): FeedResponse {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, version };
}
