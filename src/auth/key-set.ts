/**
 * The keys that verify bearer tokens. The key set (RFC 7517) is a var, or fetched: while a fetch
 * fails, the isolate uses its last good one. Requests on Workers cannot share a promise, so each
 * request that finds no fresh keys fetches them, within a bound; beyond it, a request without any keys
 * waits until others have found them.
 */

import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
} from 'jose';
import * as z from 'zod';
import type { Config } from '../config.ts';
import { parseJson } from '../http/json-text.ts';
import { logFault } from '../http/log.ts';

const FETCH_DEADLINE_MS = 5_000;
/** After this time, keys are fetched again. */
const FRESH_MS = 600_000;
/** Between two fetches for an unknown `kid`, or after a failed fetch. */
const COOL_DOWN_MS = 30_000;
/** After a failed fetch while no keys are known: no token is valid meanwhile. */
const RETRY_MS = 1_000;
/** At once. Further tokens are judged by the known keys. */
const MAX_FETCHES = 4;
/** While no keys are known, further tokens look for them at this pace. */
const LOOK_MS = 50;

/** The key set cannot be fetched, and the isolate has no earlier one. */
export class KeySetUnavailable extends Error {
  override readonly name = 'KeySetUnavailable';
}

/** Throws jose's `JWKSNoMatchingKey`. */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const remoteSets = new Map<string, FindKey>();

/** Undefined if none is configured. The finder throws `KeySetUnavailable` too. */
export function findKeySet({ localKeys, jwksUrl }: Config['jwt']): FindKey | undefined {
  if (localKeys !== null) return localKeys;
  if (jwksUrl === '') return undefined;
  const findKey = remoteSets.get(jwksUrl) ?? remoteSetAt(jwksUrl);
  remoteSets.set(jwksUrl, findKey);
  return findKey;
}

/** `fetchedAt` is the start of the fetch that found the keys. */
type RemoteSet = { findKey: FindKey; fetchedAt: number };

/** Finds keys in the last good key set, which is renewed when it is old or lacks a key. */
function remoteSetAt(url: string): FindKey {
  let known: RemoteSet | undefined;
  let pausedUntil = 0;
  /** Those under way. The fetch of a request that is cancelled has no end. */
  const fetches = new Set<{ startedAt: number }>();

  /** Returns the last good set if a fetch fails. Throws `KeySetUnavailable` if there is none. */
  async function renew(): Promise<RemoteSet> {
    const fetchedAt = Date.now();
    for (const each of fetches) {
      if (fetchedAt - each.startedAt >= FETCH_DEADLINE_MS) fetches.delete(each);
    }
    if (fetches.size < MAX_FETCHES && fetchedAt >= pausedUntil) {
      const own = { startedAt: fetchedAt };
      fetches.add(own);
      try {
        const keys = await fetchUsableKeys(url);
        known = { findKey: createLocalJWKSet({ keys }), fetchedAt };
      } catch (error) {
        logFault('the key set could not be renewed', error);
        pausedUntil = Date.now() + (known === undefined ? RETRY_MS : COOL_DOWN_MS);
      }
      fetches.delete(own);
    }
    const mayCome = () => known === undefined && fetches.size > 0 && Date.now() >= pausedUntil;
    for (let waitedMs = 0; mayCome() && waitedMs < FETCH_DEADLINE_MS; waitedMs += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    if (known === undefined) throw new KeySetUnavailable('no key set is known');
    return known;
  }

  return async (header, token) => {
    const isFresh = known !== undefined && Date.now() - known.fetchedAt < FRESH_MS;
    const { findKey, fetchedAt } = known !== undefined && isFresh ? known : await renew();
    try {
      return await findKey(header, token);
    } catch (error) {
      // The provider may have a new key.
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || Date.now() - fetchedAt < COOL_DOWN_MS) throw error;
      const renewed = await renew();
      return renewed.findKey(header, token);
    }
  };
}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });

/** Fetches a key set, without keys of unknown kinds or private keys (RFC 7517 section 5). */
export async function fetchUsableKeys(url: string): Promise<JWK[]> {
  const headers = { Accept: 'application/json, application/jwk-set+json' };
  const signal = AbortSignal.timeout(FETCH_DEADLINE_MS);
  const response = await fetch(url, { headers, redirect: 'manual', signal });
  if (response.status !== 200) throw notKeySet(`the status ${response.status}`);
  const published = parseJson(await response.text());
  const { data } = keySet.safeParse(published);
  if (data === undefined) throw notKeySet(describe(published));
  const usable = data.keys.filter((key) => ['RSA', 'EC', 'OKP'].includes(key.kty) && !('d' in key));
  if (usable.length === 0) throw notKeySet('a key set without a usable key');
  return usable;
}

function notKeySet(found: string): Error {
  return new Error(
    `JWT_JWKS_URL has ${found}: it must be the address of a JSON Web Key Set, {"keys":[…]}`,
  );
}

/** e.g. the fields of the provider's discovery document, or of one key. */
function describe(published: unknown): string {
  if (typeof published !== 'object' || published === null) return 'no JSON object';
  return `an object with ${Object.keys(published).join(', ').slice(0, 500) || 'no field'}`;
}
