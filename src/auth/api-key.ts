/** Identifies callers by the API key in their `x-api-key` header. */

import { hash } from 'node:crypto';
import type { Config } from '../config.ts';
import { logError } from '../http/log.ts';
import { mergeRepeated } from '../http/repeated-header.ts';
import {
  endOfDay,
  FULL_ACCESS_CALLER,
  type PresentedKey,
  SCOPES,
  type Scope,
} from './named-keys.ts';

export const API_KEY_HEADER = 'x-api-key';

/** Prefix of development keys, such as the key in .dev.vars.example. They are valid only in development. */
const DEVELOPMENT_PREFIX = 'dev_';
/**
 * Minimum length of a key in `API_KEY`. Shorter keys could be guessed, so they are valid only in
 * development.
 */
const MIN_KEY_CHARACTERS = 16;

type KeyConfig = Pick<Config, 'apiKeys' | 'namedKeys' | 'isDevelopment'>;

type ConfiguredKey = {
  /** SHA-256 of the key. */
  digest: Uint8Array;
  caller: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch; infinite for a key that does not expire. */
  validBefore: number;
  rateLimit?: number | undefined;
  isTooShort?: boolean;
};

const keysByConfig = new WeakMap<KeyConfig, readonly ConfiguredKey[]>();

/**
 * Identifies the caller by the value of the `x-api-key` header. Returns undefined if the header is
 * missing. Compares the digest of the key with every configured digest, so that the response time
 * reveals nothing about any key.
 */
export function identifyKey(
  header: string | undefined,
  config: KeyConfig,
  now: number,
): PresentedKey | undefined {
  if (header === undefined) return undefined;
  const presentedKey = mergeRepeated(header);
  const configuredKeys = keysByConfig.get(config) ?? digestKeys(config);
  keysByConfig.set(config, configuredKeys);
  const presentedDigest = hash('sha256', presentedKey, 'buffer');
  let match: ConfiguredKey | undefined;
  for (const key of configuredKeys) {
    if (crypto.subtle.timingSafeEqual(presentedDigest, key.digest)) match = key;
  }
  if (presentedKey === '') return { outcome: 'unknown', reason: 'empty' };
  if (presentedKey.startsWith(DEVELOPMENT_PREFIX) && !config.isDevelopment) {
    return { outcome: 'unknown', reason: 'a development key' };
  }
  if (match === undefined) return { outcome: 'unknown', reason: 'unknown' };
  if (match.isTooShort) return { outcome: 'unknown', reason: 'a short key' };
  const { caller, scopes, validBefore, rateLimit } = match;
  if (now >= validBefore) return { outcome: 'expired', caller, reason: 'expired' };
  return { outcome: 'valid', caller, scopes, rateLimit };
}

/**
 * Computes the digest of every configured key, and logs an error if a key is ignored. The keys of
 * `API_KEY` come last, because they have every scope, and `identifyKey` returns the last match.
 */
function digestKeys(config: KeyConfig): readonly ConfiguredKey[] {
  const { apiKeys, namedKeys, isDevelopment } = config;
  const isDevelopmentKey = (key: string) => !isDevelopment && key.startsWith(DEVELOPMENT_PREFIX);
  const isTooShort = (key: string) => !isDevelopment && key.length < MIN_KEY_CHARACTERS;
  if (apiKeys.some(isDevelopmentKey)) {
    const reason = `API_KEY contains a key that begins with ${DEVELOPMENT_PREFIX}: it opens nothing here`;
    logError('a development key is ignored', new Error(reason));
  }
  if (apiKeys.some(isTooShort)) {
    const reason = `API_KEY contains a key of fewer than ${MIN_KEY_CHARACTERS} characters: it opens nothing here`;
    logError('a short key is ignored', new Error(reason));
  }
  return [
    ...namedKeys.map(({ name, scopes, sha256, expires, rate_limit }) => ({
      digest: Uint8Array.fromHex(sha256),
      caller: name,
      scopes,
      validBefore: expires === undefined ? Number.POSITIVE_INFINITY : endOfDay(expires),
      rateLimit: rate_limit,
    })),
    ...apiKeys.map((key) => ({
      digest: hash('sha256', key, 'buffer'),
      caller: FULL_ACCESS_CALLER,
      scopes: SCOPES,
      validBefore: Number.POSITIVE_INFINITY,
      isTooShort: isTooShort(key),
    })),
  ];
}
