/** The `x-api-key` credential. */

import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { logError } from '../http/log.ts';
import { sentOnce } from '../http/repeated-header.ts';
import {
  endOfDay,
  FULL_ACCESS_CALLER,
  type PresentedKey,
  SCOPES,
  type Scope,
} from './named-keys.ts';

export const API_KEY_HEADER = 'x-api-key';

/** The key in .dev.vars.example begins with it. Such keys are valid in development only. */
const DEVELOPMENT_PREFIX = 'dev_';
/** A shorter value of `API_KEY` could be guessed: it is valid in development only. */
const MIN_KEY_CHARACTERS = 16;

type KeyConfig = Pick<Config, 'apiKeys' | 'namedKeys' | 'isDevelopment'>;

type KnownKey = {
  /** SHA-256 of the key. */
  digest: Uint8Array;
  caller: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch; infinite for a key that does not expire. */
  validBefore: number;
  rateLimit?: number | undefined;
  isTooShort?: boolean;
};

const knownKeys = new WeakMap<KeyConfig, readonly KnownKey[]>();

/**
 * Judges the value of the key's header; undefined if no key was sent. Its digest is compared with
 * the digest of every key, so that the time reveals nothing about any key.
 */
export function identifyKey(
  header: string | undefined,
  config: KeyConfig,
  now: number,
): PresentedKey | undefined {
  if (header === undefined) return undefined;
  const sent = sentOnce(header);
  const known = knownKeys.get(config) ?? digestKeys(config);
  const sentDigest = hash('sha256', sent, 'buffer');
  let found: KnownKey | undefined;
  for (const key of known) {
    if (crypto.subtle.timingSafeEqual(sentDigest, key.digest)) found = key;
  }
  if (sent === '') return { outcome: 'unknown', fault: 'empty' };
  if (sent.startsWith(DEVELOPMENT_PREFIX) && !config.isDevelopment) {
    return { outcome: 'unknown', fault: 'a development key' };
  }
  if (found === undefined) return { outcome: 'unknown', fault: 'unknown' };
  if (found.isTooShort) return { outcome: 'unknown', fault: 'a short key' };
  const { caller, scopes, validBefore, rateLimit } = found;
  if (now >= validBefore) return { outcome: 'expired', caller, fault: 'expired' };
  return { outcome: 'valid', caller, scopes, rateLimit };
}

/** Keys that open everything are last, because `identifyKey` takes the last match. */
function digestKeys(config: KeyConfig): readonly KnownKey[] {
  const { apiKeys, namedKeys, isDevelopment } = config;
  const named = namedKeys.map(({ name, scopes, sha256, expires, rate_limit }) => ({
    digest: Uint8Array.fromHex(sha256),
    caller: name,
    scopes,
    validBefore: expires === undefined ? Number.POSITIVE_INFINITY : endOfDay(expires),
    rateLimit: rate_limit,
  }));
  const isTooShort = (key: string) => !isDevelopment && key.length < MIN_KEY_CHARACTERS;
  const openingAll = apiKeys.map((key) => ({
    digest: hash('sha256', key, 'buffer'),
    caller: FULL_ACCESS_CALLER,
    scopes: SCOPES,
    validBefore: Number.POSITIVE_INFINITY,
    isTooShort: isTooShort(key),
  }));
  const known = [...named, ...openingAll];
  if (!isDevelopment && apiKeys.some((key) => key.startsWith(DEVELOPMENT_PREFIX))) {
    const reason = `API_KEY contains a key that begins with ${DEVELOPMENT_PREFIX}: it opens nothing here`;
    logError('a development key is ignored', new Error(reason));
  }
  if (apiKeys.some(isTooShort)) {
    const reason = `API_KEY contains a key of fewer than ${MIN_KEY_CHARACTERS} characters: it opens nothing here`;
    logError('a short key is ignored', new Error(reason));
  }
  knownKeys.set(config, known);
  return known;
}
