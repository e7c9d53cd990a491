/**
 * The key set of an identity provider (RFC 7517), fetched over HTTP and kept.
 *
 * jose's own remote set forgets its keys with the isolate, and on Workers fetches once for each of
 * the requests that find it empty. Here the keys are kept in the edge cache too (per data centre,
 * and only on a custom domain), and one fetch at a time serves all who wait.
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
import { fetchKeySet, type KeptKeySet, keepKeySet, readKeptKeySet } from './kept-key-set.ts';

/** For the whole of a load, the edge cache's part included. */
const LOAD_DEADLINE_MS = 5_000;
/** After this time the provider is asked again: a key that it has withdrawn is refused by then. */
const FRESH_MS = 600_000;
/** How long keys outlive a provider that cannot be reached. */
const USABLE_MS = 86_400_000;
/** Between two fetches for a `kid` that is not in the set, or for keys that could not be renewed. */
const COOL_DOWN_MS = 30_000;
/** Between two fetches while no key is known. */
const FAILURE_PAUSE_MS = 1_000;

/** No key can be had: the provider cannot be reached, or answers something else than a key set. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** The key set at one address. One for each isolate and address. */
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
   * The key that a token names. Throws jose's `JWKSNoMatchingKey` when the set lacks it, also after
   * a refetch, and `KeySetUnavailable` when no set is known.
   */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey> {
    if (!this.#isYoungerThan(FRESH_MS) && Date.now() >= this.#pausedUntil) await this.#load(true);
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
      await this.#load(false);
      return await this.#keys.find(header, token);
    }
  }

  #isYoungerThan(milliseconds: number): boolean {
    return this.#keys !== undefined && Date.now() - this.#keys.fetchedAt < milliseconds;
  }

  /**
   * Renews the keys, or leaves them as they are and keeps the fault. Whoever comes while a load is
   * under way waits for it; it outlives the request that began it, and nobody waits for it for ever.
   */
  async #load(fromEdgeCache: boolean): Promise<void> {
    this.#loading ??= this.#begin(fromEdgeCache);
    const loading = this.#loading;
    try {
      await withDeadline(loading, LOAD_DEADLINE_MS, 'key set');
    } catch (error) {
      if (this.#loading !== loading) return;
      this.#loading = undefined;
      this.#keepFault(error);
    }
  }

  #begin(fromEdgeCache: boolean): Promise<void> {
    const loading = this.#renew(fromEdgeCache)
      .catch((error) => this.#keepFault(error))
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    waitUntil(loading);
    return loading;
  }

  async #renew(fromEdgeCache: boolean): Promise<void> {
    if (fromEdgeCache) {
      const kept = await readKeptKeySet(this.#url);
      if (kept !== undefined) this.#use(kept);
      if (this.#isYoungerThan(FRESH_MS)) return;
    }
    const fetched = await fetchKeySet(this.#url, LOAD_DEADLINE_MS);
    this.#use(fetched);
    waitUntil(keepKeySet(this.#url, fetched));
  }

  #use({ fetchedAt, jwks }: KeptKeySet): void {
    if (this.#keys !== undefined && this.#keys.fetchedAt > fetchedAt) return;
    this.#keys = { fetchedAt, find: createLocalJWKSet(jwks) };
  }

  #keepFault(error: unknown): void {
    this.#fault = error;
    this.#pausedUntil = Date.now() + (this.#keys === undefined ? FAILURE_PAUSE_MS : COOL_DOWN_MS);
    logFault('key set could not be renewed', undefined, error);
  }
}
