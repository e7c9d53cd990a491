/**
 * The key set of an identity provider (RFC 7517), fetched over HTTP and cached.
 *
 * jose's own remote set forgets its keys with the isolate, and on Workers fetches once for each of
 * the requests that find it empty. This one caches the keys at the edge too (per data centre, and
 * only on a custom domain), and one fetch at a time serves everybody who waits.
 */

import { waitUntil } from 'cloudflare:workers';
import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
  type LocalJWKSet,
} from 'jose';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import {
  cacheKeySet,
  type FetchedKeySet,
  fetchKeySet,
  readCachedKeySet,
} from './cached-key-set.ts';

/** Bounds a whole load, the edge cache's part included. */
const LOAD_DEADLINE_MS = 5_000;
/** The provider is asked again after this time: a key that it has withdrawn is refused by then. */
const FRESH_MS = 600_000;
/** Keys outlive a provider that cannot be reached by this time. */
const USABLE_MS = 86_400_000;
/** The pause between two fetches for an unknown `kid`, or for keys that could not be renewed. */
const COOL_DOWN_MS = 30_000;
/** The pause between two fetches while no key is known. */
const FAILURE_PAUSE_MS = 1_000;

/** The provider cannot be reached or does not answer with a key set, and no key is known. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** The key set at one address. An isolate has one for each address. */
export class RemoteKeySet {
  readonly #url: string;
  #keys: { fetchedAt: number; find: LocalJWKSet } | undefined;
  #loading: Promise<void> | undefined;
  #fault: unknown;
  #pausedUntil = 0;
  #coolUntil = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /**
   * Returns the key that a token names. `requestUrl` is the address of the request. Throws jose's
   * `JWKSNoMatchingKey` when the set lacks it even after a refetch, and `KeySetUnavailable` when no set is known.
   */
  async find(
    header: JWSHeaderParameters,
    token: FlattenedJWSInput,
    requestUrl: string,
  ): Promise<CryptoKey> {
    if (!this.#isYoungerThan(FRESH_MS) && Date.now() >= this.#pausedUntil) {
      await this.#load(requestUrl, true);
    }
    if (this.#keys === undefined || !this.#isYoungerThan(USABLE_MS)) {
      throw new KeySetUnavailable('no key set is known', { cause: this.#fault });
    }
    try {
      return await this.#keys.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (this.#loading === undefined) {
        if (Date.now() < this.#coolUntil) throw error;
        this.#coolUntil = Date.now() + COOL_DOWN_MS;
      }
      await this.#load(requestUrl, false);
      return await this.#keys.find(header, token);
    }
  }

  #isYoungerThan(milliseconds: number): boolean {
    return this.#keys !== undefined && Date.now() - this.#keys.fetchedAt < milliseconds;
  }

  /**
   * Renews the keys, or leaves them as they are and notes the fault. Requests that come while a load
   * is under way wait for it, for a bounded time; it outlives the request that began it.
   */
  async #load(requestUrl: string, fromEdgeCache: boolean): Promise<void> {
    this.#loading ??= this.#begin(requestUrl, fromEdgeCache);
    const loading = this.#loading;
    try {
      await withDeadline(loading, LOAD_DEADLINE_MS, 'key set');
    } catch (error) {
      if (this.#loading !== loading) return;
      this.#loading = undefined;
      this.#noteFault(error);
    }
  }

  #begin(requestUrl: string, fromEdgeCache: boolean): Promise<void> {
    const loading = this.#renew(requestUrl, fromEdgeCache)
      .catch((error) => this.#noteFault(error))
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    waitUntil(loading);
    return loading;
  }

  async #renew(requestUrl: string, fromEdgeCache: boolean): Promise<void> {
    if (fromEdgeCache) {
      const cached = await readCachedKeySet(this.#url, requestUrl);
      if (cached !== undefined) this.#use(cached);
      if (this.#isYoungerThan(FRESH_MS)) return;
    }
    const fetched = await fetchKeySet(this.#url, LOAD_DEADLINE_MS);
    this.#use(fetched);
    waitUntil(cacheKeySet(this.#url, requestUrl, fetched));
  }

  #use({ fetchedAt, jwks }: FetchedKeySet): void {
    if (this.#keys !== undefined && this.#keys.fetchedAt > fetchedAt) return;
    this.#keys = { fetchedAt, find: createLocalJWKSet(jwks) };
  }

  #noteFault(error: unknown): void {
    this.#fault = error;
    this.#pausedUntil = Date.now() + (this.#keys === undefined ? FAILURE_PAUSE_MS : COOL_DOWN_MS);
    logFault('the key set could not be renewed', error);
  }
}
