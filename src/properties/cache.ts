/**
 * The feed's cache: finished responses in two levels, the memory of this isolate and the edge cache
 * of the data centre. A response is current while it has the version of the catalogue, e.g.
 *
 *     9b8305d194e26a0a92b55a6485c3e2c7 12 7c1d2c0e-…    generation, number, id of the import
 *
 * and while the check of this version is recent. An import that changes a response raises the
 * number. After a rewind (Time Travel), until `after-time-travel` begins a new generation, two
 * imports may have raised it to the same number. Across generations, the primary decides.
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
/** The header of an edge entry: its check and others, as JSON. */
const CHECKS = 'X-Checks';
/** The key of the edge entry with only the data centre's latest check. */
const SHARED_CHECK = 'check';
const MAX_CHECKS = 5;
const TAG_BYTES = 16;
const ENTRY_OVERHEAD_BYTES = 512;
/** A larger response is cached at the edge only. */
const MAX_ENTRY_PART = 1 / 16;

/**
 * A version, and the start of the last read that found it, in milliseconds since the epoch. A
 * version has one object, whose `at` is renewed in place.
 */
type Check = { readonly version: string; at: number };

/** All responses of a version share its check. A missing listing has no body. */
export type FeedResponse =
  /** A Blob, because a `Response` copies plain bytes once more. */
  { body: Blob; headers: Headers; check: Check } | { body?: never; headers?: never; check: Check };

export type CachedResponse = {
  response: FeedResponse;
  hasCurrentVersion: boolean;
  /** `due`: current, to be renewed. `stale`: served while D1 is slow or failed. */
  state: 'current' | 'due' | 'stale' | 'expired';
  /** Until the response is stale; negative afterwards. */
  ttlMs: number;
};

/** For all requests of an isolate. A key is the JSON text of a request. */
export class FeedCache {
  /** The current version first, then earlier ones. */
  #checks: Check[] = [];
  #lastShared: Check = { version: '', at: 0 };
  readonly #memory: LRUCache<string, FeedResponse>;
  /** Versions of the Worker share the edge cache. */
  readonly #rendering: string;
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor({ feedMemoryBytes, feedCacheSeconds, feedStaleSeconds, publicSiteUrl }: Config) {
    this.#memory = new LRUCache({
      // `FEED_MEMORY_BYTES=0` caches nothing: no entry fits into one byte.
      maxSize: Math.max(1, feedMemoryBytes),
      maxEntrySize: Math.max(1, Math.floor(feedMemoryBytes * MAX_ENTRY_PART)),
      sizeCalculation: ({ body }, key) => (body?.size ?? 0) + 2 * key.length + ENTRY_OVERHEAD_BYTES,
    });
    this.#rendering = formatRendering(publicSiteUrl);
    this.#currentMs = feedCacheSeconds * 1_000;
    this.#staleMs = feedStaleSeconds * 1_000;
  }

  /** Finds the newer one of the responses in memory and at the edge. */
  find(key: string, edge?: FeedResponse): CachedResponse | undefined {
    const memory = this.#memory.get(key);
    const isEdgeNewer = edge && (!memory || this.#precedes(edge.check, memory.check));
    const response = isEdgeNewer ? edge : memory;
    if (response === undefined) return undefined;
    const hasCurrentVersion = response.check === this.#checks[0];
    const ageMs = Date.now() - response.check.at;
    const leftMs = this.#currentMs - ageMs;
    if (hasCurrentVersion && !this.#hasEnded(response.check)) {
      const state = this.#hasEnded(response.check, RENEWAL_PART) ? 'due' : 'current';
      return { response, hasCurrentVersion, state, ttlMs: leftMs };
    }
    const state = ageMs <= this.#staleMs ? 'stale' : 'expired';
    // Negative also for an earlier version, whose check may not have ended.
    return { response, hasCurrentVersion, state, ttlMs: Math.min(-1, leftMs) };
  }

  /** Keeps a response in memory, unless it has a newer one. */
  remember(key: string, response: FeedResponse): void {
    const known = this.#memory.get(key);
    if (known && this.#precedes(known.check, response.check)) return;
    this.#memory.set(key, response);
  }

  /** Also learns the shared check. Never rejects. */
  findAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    const finding = this.#readAtEdge(url, key);
    return withDeadline(finding, EDGE_DEADLINE_MS, 'edge cache read').catch(logEdgeFault);
  }

  /** Caches a response in both levels. Never rejects. */
  async put(url: string, key: string, response: FeedResponse): Promise<void> {
    if (this.#currentMs === 0) return;
    this.remember(key, response);
    await Promise.all([this.#putAtEdge(url, key, response), this.shareCheck(url, response)]);
  }

  /** Shares a check, unless this isolate has shared one nearly as recent. */
  async shareCheck(url: string, { check }: Pick<FeedResponse, 'check'>): Promise<void> {
    const { version, at } = this.#lastShared;
    const isRecent = Math.abs(check.at - at) < this.#currentMs * (1 - RENEWAL_PART);
    if (version === check.version && isRecent) return;
    this.#lastShared = { ...check };
    await this.#putAtEdge(url, SHARED_CHECK, { check });
  }

  /**
   * Reads D1, and learns the version. A replica may lag: a read that finds neither the current
   * version nor a newer one is repeated at the primary, which decides. Throws D1's error.
   */
  async read<Result extends { version: string }>(
    database: D1Database,
    query: (session: D1DatabaseSession) => Promise<Result>,
    constraint: D1SessionConstraint = 'first-unconstrained',
  ): Promise<Result & { check: Check }> {
    for (let from = constraint; ; from = 'first-primary') {
      const [before] = this.#checks;
      const at = Date.now();
      const result = await query(database.withSession(from));
      const { version } = result;
      const [current] = this.#checks;
      const isCurrentOrNewer = version === current?.version || succeedsAll(version, this.#checks);
      // Not if another read changed the current version meanwhile.
      const isDecided = from === 'first-primary' && current === before;
      if (isCurrentOrNewer || isDecided) {
        const check = this.#learn(version, { isCurrent: true });
        // Also an earlier time: the clock may have been set back.
        check.at = at;
        return { ...result, check };
      }
    }
  }

  /** Learns a check of another isolate. */
  #learnFromEdge({ version, at }: Check): Check {
    // A time in the future is from a clock that was set back since.
    const heard = { version, at: at > Date.now() + MAX_CLOCK_SKEW_MS ? 0 : at };
    // An ended check may be of a version that a rewind undid: it replaces no live one.
    const mayReplace = !this.#hasEnded(heard) || this.#hasEnded(this.#checks[0]);
    const isSame = version === this.#checks[0]?.version;
    const isCurrent = isSame || (mayReplace && succeedsAll(version, this.#checks));
    const check = this.#learn(version, { isCurrent });
    check.at = Math.max(check.at, heard.at);
    return check;
  }

  /** Returns the check of a version. The caller sets its `at`. */
  #learn(found: string, { isCurrent }: { isCurrent: boolean }): Check {
    const known = this.#checks.find(({ version }) => version === found);
    if (known && !isCurrent) return known;
    const check = known ?? { version: found, at: 0 };
    const others = this.#checks.filter((each) => each !== check);
    this.#checks = (isCurrent ? [check, ...others] : [...others, check]).slice(0, MAX_CHECKS);
    return check;
  }

  async #readAtEdge(url: string, key: string): Promise<FeedResponse | undefined> {
    const isDue = this.#hasEnded(this.#checks[0], RENEWAL_PART);
    const readingShared = isDue && this.#matchAtEdge(url, SHARED_CHECK);
    const [{ entry, check }] = await Promise.all([this.#matchAtEdge(url, key), readingShared]);
    if (entry === undefined || check === undefined) return undefined;
    const etag = entry.headers.get('ETag');
    // A missing listing has no ETag.
    return etag ? buildResponse(await entry.arrayBuffer(), etag, check) : { check };
  }

  #putAtEdge(url: string, key: string, response: FeedResponse): Promise<void> {
    const putting = this.#replaceAtEdge(url, key, response);
    return withDeadline(putting, EDGE_DEADLINE_MS, 'edge cache write').catch(logEdgeFault);
  }

  /** Puts a response, unless the edge has a newer one. */
  async #replaceAtEdge(url: string, key: string, { body, headers, check }: FeedResponse) {
    const known = await this.#matchAtEdge(url, key);
    if (known.check && this.#precedes(known.check, check)) return;
    const stored = new Headers(headers);
    stored.set('Cache-Control', `public, max-age=${EDGE_SECONDS}`);
    stored.set(CHECKS, JSON.stringify([check, ...this.#checks]));
    const entry = new Response(body ?? null, { headers: stored });
    await caches.default.put(this.#formatAddress(url, key), entry);
  }

  async #matchAtEdge(url: string, key: string) {
    const entry = await caches.default.match(this.#formatAddress(url, key));
    const stored: Check[] = JSON.parse(entry?.headers.get(CHECKS) ?? '[]');
    // The first is the entry's.
    const [check] = stored.map((each) => this.#learnFromEdge(each));
    return { entry, check };
  }

  /** In the request's zone, as the Cache API asks. */
  #formatAddress(url: string, key: string): string {
    // A URL cannot be parsed if the Host header is no valid authority.
    const origin = URL.parse(url)?.origin ?? 'https://unknown.invalid';
    return `${origin}/api/.feed/${encodeURIComponent(`${this.#rendering} ${key}`)}`;
  }

  /** Whether a part of the check's lifetime has ended. Also if the clock was set back since. */
  #hasEnded(check: Check | undefined, part = 1): boolean {
    const ageMs = Date.now() - (check?.at ?? 0);
    return ageMs < -MAX_CLOCK_SKEW_MS || ageMs >= this.#currentMs * part;
  }

  /** Whether `check` is newer than `other`. */
  #precedes(check: Check, other: Check): boolean {
    const first = this.#checks.find((each) => each === check || each === other);
    return first === check && check !== other;
  }
}

/** Whether a version is of the current generation, and newer than every check of it. */
function succeedsAll(version: string, checks: readonly Check[]): boolean {
  const [current] = checks;
  if (current === undefined) return true;
  const [generation, number] = version.split(' ');
  if (!current.version.startsWith(`${generation} `)) return false;
  const ofGeneration = checks.filter((check) => check.version.startsWith(`${generation} `));
  return ofGeneration.every((check) => Number(check.version.split(' ')[1]) < Number(number));
}

function logEdgeFault(error: unknown): undefined {
  logFault('the edge cache failed', error);
}

/** Makes a response with a strong `ETag` (RFC 9110 section 8.8.3): equal texts, equal tags. */
export async function makeResponse(json: string | undefined, check: Check): Promise<FeedResponse> {
  if (json === undefined) return { check };
  const bytes = new TextEncoder().encode(json);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return buildResponse(bytes, `"${digest.subarray(0, TAG_BYTES).toHex()}"`, check);
}

function buildResponse(bytes: Uint8Array | ArrayBuffer, etag: string, check: Check): FeedResponse {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, check };
}
