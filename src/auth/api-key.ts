/** The `x-api-key` credential: whose key it is, and what it opens. */

import type { Config } from '../config.ts';
import { logFault } from '../http/log.ts';
import {
  DEVELOPMENT_PREFIX,
  endOfDay,
  FULL_ACCESS_CALLER,
  SCOPES,
  type Scope,
} from './named-keys.ts';

/** The parts of the configuration that say which keys there are. */
export type KeyConfig = Pick<Config, 'apiKeys' | 'namedKeys' | 'developmentKeys' | 'isDevelopment'>;

/** The finding about a key that was sent. `fault` is for the log, and says why the key opens nothing. */
export type SentKey =
  | { outcome: 'valid'; caller: string; scopes: readonly Scope[] }
  | { outcome: 'expired'; caller: string; fault: 'expired' }
  | { outcome: 'unknown'; fault: 'unknown' | 'empty' | 'a development key' };

/** A configured key. */
type KnownKey = {
  /** SHA-256 of the key. */
  digest: Uint8Array;
  caller: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch; infinite for a key that does not expire. */
  validBefore: number;
};

/** Made once for each configuration. Plain data: a promise must not be shared between requests. */
const knownKeys = new WeakMap<KeyConfig, readonly KnownKey[]>();

const encoder = new TextEncoder();

/**
 * Finds out whose key `sent` is, at the time `now`. What is compared is the SHA-256 of what was sent
 * with that of every configured key, so the time taken tells nothing about any key.
 */
export async function identifyKey(sent: string, config: KeyConfig, now: number): Promise<SentKey> {
  const known = knownKeys.get(config) ?? (await learnKeys(config));
  const digest = await digestOf(sent);
  let found: KnownKey | undefined;
  for (const key of known) {
    if (crypto.subtle.timingSafeEqual(digest, key.digest)) found = key;
  }
  if (sent === '') return { outcome: 'unknown', fault: 'empty' };
  if (isDevelopmentKey(sent) && !config.isDevelopment) {
    return { outcome: 'unknown', fault: 'a development key' };
  }
  if (found === undefined) return { outcome: 'unknown', fault: 'unknown' };
  const { caller, scopes, validBefore } = found;
  if (now >= validBefore) return { outcome: 'expired', caller, fault: 'expired' };
  return { outcome: 'valid', caller, scopes };
}

/**
 * Digests every configured key. Keys that open everything stand last, because `identifyKey` takes the last
 * match.
 */
async function learnKeys(config: KeyConfig): Promise<readonly KnownKey[]> {
  const { apiKeys, namedKeys, developmentKeys, isDevelopment } = config;
  const unlimited = { validBefore: Number.POSITIVE_INFINITY };
  const named = namedKeys.map(({ name, scopes, sha256, expires }) => ({
    digest: Uint8Array.fromHex(sha256),
    caller: name,
    scopes,
    validBefore: expires === undefined ? unlimited.validBefore : endOfDay(expires),
  }));
  const inDevelopment = developmentKeys.map(async ({ name, scopes, key }) => ({
    digest: await digestOf(key),
    caller: name,
    scopes,
    ...unlimited,
  }));
  const openingAll = apiKeys.map(async (key) => ({
    digest: await digestOf(key),
    caller: FULL_ACCESS_CALLER,
    scopes: SCOPES,
    ...unlimited,
  }));
  const known = [...named, ...(await Promise.all([...inDevelopment, ...openingAll]))];
  // Another request of this isolate may have been here meanwhile.
  if (!knownKeys.has(config) && !isDevelopment && apiKeys.some(isDevelopmentKey)) {
    logFault(
      'a development key is ignored',
      new Error(
        `API_KEY holds a key that begins with ${DEVELOPMENT_PREFIX}: it opens nothing here`,
      ),
    );
  }
  knownKeys.set(config, known);
  return known;
}

function isDevelopmentKey(key: string): boolean {
  return key.startsWith(DEVELOPMENT_PREFIX);
}

async function digestOf(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(key)));
}
