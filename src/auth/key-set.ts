/**
 * Finds the keys that verify bearer tokens. The key set (RFC 7517) is in a var, or it is fetched from a
 * URL. A fetched set is fresh for ten minutes. If a later fetch fails, the isolate keeps the old set.
 *
 *     cached set    fetches in progress   what a request does
 *     fresh         any                   uses the set
 *     old or none   fewer than 4          fetches the set itself, because requests on Workers
 *                                         cannot share a promise
 *     old           4                     uses the old set
 *     none          4                     waits until another request has fetched the set
 */

import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
} from 'jose';
import type { Config } from '../config.ts';
import { parseJson } from '../http/json-text.ts';
import { logError } from '../http/log.ts';
import { type KeySet, MAX_REPORTED_ENTRIES, readKeySet } from './jwk-set.ts';

const FETCH_DEADLINE_MS = 5_000;
/** Time for which a fetched key set is fresh. */
const FRESH_MS = 600_000;
/** Minimum time between two fetches for an unknown `kid`, and after a failed fetch. */
const COOL_DOWN_MS = 30_000;
/**
 * Minimum time between two fetches while no key set is cached. It is short, because no token can be
 * verified until then.
 */
const RETRY_MS = 1_000;
/** Maximum number of concurrent fetches. Other requests use the cached keys. */
const MAX_FETCHES = 4;
/** Interval at which a waiting request checks whether another request has fetched a key set. */
const CHECK_INTERVAL_MS = 50;

/** The error for a token that cannot be verified, because no key set is cached and none can be fetched. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/**
 * Returns the key that verifies a token. Throws jose's `JWKSNoMatchingKey` if the key set does not have
 * the key, and `KeySetUnavailable`.
 */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const localFinders = new WeakMap<KeySet, FindKey>();
const remoteFinders = new Map<string, FindKey>();

/**
 * Returns the function that finds keys in the configured key set. Returns undefined if no key set is
 * configured.
 */
export function findKeySet({ localKeySet, jwksUrl }: Config['jwt']): FindKey | undefined {
  if (localKeySet !== null) {
    const findKey = localFinders.get(localKeySet) ?? createLocalFinder(localKeySet);
    localFinders.set(localKeySet, findKey);
    return findKey;
  }
  if (jwksUrl === '') return undefined;
  const findKey = remoteFinders.get(jwksUrl) ?? createRemoteFinder(jwksUrl);
  remoteFinders.set(jwksUrl, findKey);
  return findKey;
}

function createLocalFinder({ usableKeys, malformedEntries }: KeySet): FindKey {
  for (const entry of malformedEntries) logMalformedEntry('JWT_JWKS', entry);
  return createLocalJWKSet({ keys: usableKeys });
}

/** Malformed entries that this isolate has already logged, by the name of their key set. */
const loggedEntries = new Map<string, Set<string>>();

/** Logs a malformed entry once per isolate, because key sets are read repeatedly. */
function logMalformedEntry(keySetName: string, entry: string): void {
  const entriesOfSet = loggedEntries.get(keySetName) ?? new Set();
  loggedEntries.set(keySetName, entriesOfSet);
  if (entriesOfSet.has(entry) || entriesOfSet.size >= MAX_REPORTED_ENTRIES) return;
  entriesOfSet.add(entry);
  logError('an entry of the key set is ignored', new Error(`${keySetName}: ${entry}`));
}

/** `fetchedAt` is the start of the fetch, in milliseconds since the epoch. */
type CachedSet = { findKey: FindKey; fetchedAt: number };

/**
 * Creates a finder that caches the last good key set. Fetches the set again if it is old or a key is
 * missing.
 */
function createRemoteFinder(url: string): FindKey {
  let cachedSet: CachedSet | undefined;
  let pausedUntil = 0;
  /** Fetches in progress. A cancelled request never removes its fetch. */
  const fetches = new Set<{ startedAt: number }>();
  const logMalformed = (entry: string) => logMalformedEntry(`JWT_JWKS_URL ${url}`, entry);

  /**
   * Fetches the key set. Returns the last good set if the fetch fails. Throws `KeySetUnavailable` if
   * there is none.
   */
  async function refresh(): Promise<CachedSet> {
    const now = Date.now();
    for (const fetch of fetches) {
      if (now - fetch.startedAt >= FETCH_DEADLINE_MS) fetches.delete(fetch);
    }
    if (fetches.size < MAX_FETCHES && now >= pausedUntil) {
      const currentFetch = { startedAt: now };
      fetches.add(currentFetch);
      try {
        const keys = await fetchUsableKeys(url, logMalformed);
        cachedSet = { findKey: createLocalJWKSet({ keys }), fetchedAt: now };
      } catch (error) {
        logError('the key set could not be renewed', error);
        pausedUntil = Date.now() + (cachedSet === undefined ? RETRY_MS : COOL_DOWN_MS);
      }
      fetches.delete(currentFetch);
    }
    const isPending = () =>
      cachedSet === undefined && fetches.size > 0 && Date.now() >= pausedUntil;
    for (let waitedMs = 0; isPending() && waitedMs < FETCH_DEADLINE_MS; ) {
      await new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL_MS));
      waitedMs += CHECK_INTERVAL_MS;
    }
    if (cachedSet === undefined) throw new KeySetUnavailable('no key set is cached');
    return cachedSet;
  }

  return async (header, token) => {
    const isFresh = cachedSet !== undefined && Date.now() - cachedSet.fetchedAt < FRESH_MS;
    const { findKey, fetchedAt } = cachedSet !== undefined && isFresh ? cachedSet : await refresh();
    try {
      return await findKey(header, token);
    } catch (error) {
      // The provider may have a new key.
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || Date.now() - fetchedAt < COOL_DOWN_MS) throw error;
      const refreshedSet = await refresh();
      return refreshedSet.findKey(header, token);
    }
  };
}

/**
 * Fetches a key set, and returns its usable keys. Calls `onMalformed` with a message about each
 * malformed entry. Throws if there is no key set at the URL, or if the set has no usable key.
 */
export async function fetchUsableKeys(
  url: string,
  onMalformed: (entry: string) => void = () => {},
): Promise<JWK[]> {
  const headers = { Accept: 'application/json, application/jwk-set+json' };
  const signal = AbortSignal.timeout(FETCH_DEADLINE_MS);
  const response = await fetch(url, { headers, redirect: 'manual', signal });
  if (response.status !== 200) throw notKeySet(`the status ${response.status}`);
  const value = parseJson(await response.text());
  const keySet = readKeySet(value);
  if (keySet === undefined) throw notKeySet(describeValue(value));
  for (const entry of keySet.malformedEntries) onMalformed(entry);
  if (keySet.usableKeys.length === 0) throw notKeySet('a key set without a usable key');
  return keySet.usableKeys;
}

function notKeySet(content: string): Error {
  return new Error(
    `JWT_JWKS_URL has ${content}: it must be the address of a JSON Web Key Set, {"keys":[…]}`,
  );
}

/**
 * Describes a value that is not a key set, by its field names. It may be a single key or a discovery
 * document.
 */
function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no JSON object';
  return `an object with ${Object.keys(value).join(', ').slice(0, 500) || 'no field'}`;
}
