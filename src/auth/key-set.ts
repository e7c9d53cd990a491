/**
 * The key set whose keys sign valid tokens (RFC 7517): inline, or at the identity provider's address.
 *
 * jose's remote set fetches the provider's keys and keeps them for its isolate. This file adds two
 * things. The keys are cached at the edge too (per data centre, and only on a custom domain), because
 * isolates are short-lived. And known keys stay valid for a day while the provider cannot be reached.
 *
 * Requests must not wait for each other's promises on Workers: the follower of a request that is broken
 * off would hang. jose knows that and starts a fetch of its own for each request that finds no fresh keys
 * there (`isCloudflareWorkers` in its jwks/remote.js). So many requests at once to an empty isolate make
 * many fetches, bounded by the rate limit of their clients.
 */

import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWKSCacheInput,
  type JWSHeaderParameters,
  jwksCache,
} from 'jose';
import * as z from 'zod';
import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import { edgeAddressOf } from '../storage/edge-address.ts';

const FETCH_DEADLINE_MS = 5_000;
const EDGE_DEADLINE_MS = 1_000;
/** The provider is asked again after this time: a key that it has withdrawn is refused by then. */
const FRESH_MS = 600_000;
/** Keys outlive a provider that cannot be reached by this time. */
const USABLE_SECONDS = 86_400;
/** The pause between two fetches for an unknown `kid`, or for keys that could not be renewed. */
const COOL_DOWN_MS = 30_000;
const EDGE_KIND = 'key-sets';

/** The provider cannot be reached or does not answer with a key set, and no key is known. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** The request that brings a token: its address, and how work goes on after its response. */
export type TokenRequest = { url: string; inBackground(work: Promise<unknown>): void };

/** Finds the key that a token names; throws jose's `JWKSNoMatchingKey` when the set lacks it. */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const inlineSets = new WeakMap<object, FindKey>();

/**
 * Returns the configured key set for a request. An inline set wins over an address; the result is
 * `undefined` when neither is configured. With an address, `FindKey` throws `KeySetUnavailable`.
 */
export function keySetOf(
  { jwks, jwksUrl }: Config['jwt'],
  request: TokenRequest,
): FindKey | undefined {
  if (jwks !== null) {
    const findKey = inlineSets.get(jwks) ?? createLocalJWKSet(jwks);
    inlineSets.set(jwks, findKey);
    return findKey;
  }
  if (jwksUrl === '') return undefined;
  return (header, token) => findRemotely(jwksUrl, request, header, token);
}

/** A provider's keys as an isolate knows them. jose puts the keys that it fetches into `keys`, with their time. */
type Known = {
  keys: JWKSCacheInput;
  remote: ReturnType<typeof createRemoteJWKSet>;
  pausedUntil: number;
};

/** Address of a key set → its keys. */
const knownSets = new Map<string, Known>();

async function findRemotely(
  url: string,
  request: TokenRequest,
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
): Promise<CryptoKey> {
  const known = await freshest(url, request);
  const fetchedAt = known.keys.uat;
  try {
    if (Date.now() >= known.pausedUntil) return await known.remote(header, token);
  } catch (error) {
    if (isAboutToken(error)) throw error;
    logFault('the key set could not be renewed', error);
    known.pausedUntil = Date.now() + COOL_DOWN_MS;
    if (!isUsable(known.keys)) {
      knownSets.delete(url);
      throw new KeySetUnavailable('no key set is known', { cause: error });
    }
  } finally {
    if (known.keys.uat !== fetchedAt) request.inBackground(cacheAtEdge(url, request, known.keys));
  }
  return createLocalJWKSet(known.keys.jwks ?? { keys: [] })(header, token);
}

/** Reports whether a fault is about the token's key, and not about the provider. */
function isAboutToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

function isUsable({ uat }: JWKSCacheInput): boolean {
  return uat !== undefined && Date.now() - uat < USABLE_SECONDS * 1_000;
}

/** Returns the keys of the isolate while they are fresh or the fetches pause, else the youngest that are cached. */
async function freshest(url: string, request: TokenRequest): Promise<Known> {
  const known = knownSets.get(url);
  if (known && (known.remote.fresh || Date.now() < known.pausedUntil)) return known;
  const cached = await readAtEdge(url, request);
  // Another request may have fetched them meanwhile.
  const present = knownSets.get(url);
  if (present && (present.keys.uat ?? 0) >= (cached.uat ?? 0)) return present;
  const remote = createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_DEADLINE_MS,
    cooldownDuration: COOL_DOWN_MS,
    cacheMaxAge: FRESH_MS,
    [jwksCache]: cached,
    [customFetch]: fetchUsableKeys,
  });
  const made = { keys: cached, remote, pausedUntil: 0 };
  knownSets.set(url, made);
  return made;
}

/** Drops other kinds of key, and a private key that was published (RFC 7517 section 5). */
const publishedSet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .transform(({ keys }) => ({
    keys: keys.filter((key) => ['RSA', 'EC', 'OKP'].includes(key.kty) && !('d' in key)),
  }))
  .refine(({ keys }) => keys.length > 0, { error: 'a key set without a usable key' });

async function fetchUsableKeys(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  return response.status === 200
    ? Response.json(publishedSet.parse(await response.json()))
    : response;
}

/** Keys and the time at which the provider gave them, in milliseconds since the epoch. */
const edgeEntry = z.object({ uat: z.number(), jwks: publishedSet });

/** Returns the keys that an isolate of this data centre has cached, or none. Never rejects. */
async function readAtEdge(url: string, request: TokenRequest): Promise<JWKSCacheInput> {
  try {
    const match = caches.default.match(edgeAddressOf(request.url, EDGE_KIND, url));
    const response = await withDeadline(match, EDGE_DEADLINE_MS, 'edge cache');
    return response === undefined ? {} : edgeEntry.parse(await response.json());
  } catch (error) {
    logFault('the cached key set could not be read', error);
    return {};
  }
}

/** Caches keys in the data centre. Never rejects. */
async function cacheAtEdge(
  url: string,
  request: TokenRequest,
  keys: JWKSCacheInput,
): Promise<void> {
  try {
    const headers = { 'Cache-Control': `max-age=${USABLE_SECONDS}` };
    const address = edgeAddressOf(request.url, EDGE_KIND, url);
    await caches.default.put(address, Response.json(keys, { headers }));
  } catch (error) {
    logFault('the key set could not be cached', error);
  }
}
