/** The configured key set, inline or at the identity provider: its keys sign valid tokens. */

import {
  type CryptoKey,
  createLocalJWKSet,
  type FlattenedJWSInput,
  type JWSHeaderParameters,
} from 'jose';
import type { Config } from '../config.ts';
import { RemoteKeySet } from './remote-key-set.ts';

/** Finds the key that a token names; throws jose's `JWKSNoMatchingKey` when there is none. */
export type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

const inlineSets = new WeakMap<object, FindKey>();
const remoteSets = new Map<string, RemoteKeySet>();

/**
 * Returns the configured key set, which is made once per isolate, for the request at `requestUrl`. An inline
 * set wins over an address; the result is `undefined` when neither is configured.
 */
export function keySetOf(
  { jwks, jwksUrl }: Config['jwt'],
  requestUrl: string,
): FindKey | undefined {
  if (jwks !== null) return getOrMake(inlineSets, jwks, () => createLocalJWKSet(jwks));
  if (jwksUrl === '') return undefined;
  const keySet = getOrMake(remoteSets, jwksUrl, () => new RemoteKeySet(jwksUrl));
  return (header, token) => keySet.find(header, token, requestUrl);
}

function getOrMake<Key, KeySet>(
  sets: { get(key: Key): KeySet | undefined; set(key: Key, value: KeySet): unknown },
  key: Key,
  make: () => KeySet,
): KeySet {
  const known = sets.get(key) ?? make();
  sets.set(key, known);
  return known;
}
