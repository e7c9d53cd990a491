/**
 * Reads a JSON Web Key Set. Ignores unusable entries, so that the other keys of the set remain usable
 * (RFC 7517 section 5).
 *
 *     entry                              outcome
 *     {"kty":"RSA","kid":"a","n":…}      usable
 *     {"kty":"AKP"}, {"kty":"oct"}       ignored: the type is unknown, or the key is symmetric
 *     {"kty":"EC","d":…}                 ignored: a private key
 *     {"kid":"a"}, {"kty":7}, null, "a"  ignored, and reported as malformed
 */

import type { JWK } from 'jose';

export type KeySet = {
  usableKeys: JWK[];
  /** Number of entries in the set, including the ignored entries. */
  size: number;
  /**
   * Messages about the first malformed entries. A message contains the index and the `kid` of an entry,
   * but no other content.
   */
  malformedEntries: string[];
};

const USABLE_TYPES = ['RSA', 'EC', 'OKP'];
const MAX_KID_CHARACTERS = 64;
export const MAX_REPORTED_ENTRIES = 20;

/** Reads a key set. Returns undefined for a value that is not a key set. */
export function readKeySet(value: unknown): KeySet | undefined {
  if (!isObject(value) || !Array.isArray(value.keys)) return undefined;
  const entries: unknown[] = value.keys;
  return {
    usableKeys: entries.filter(isUsableKey),
    size: entries.length,
    malformedEntries: entries
      .flatMap((entry, index) => (hasType(entry) ? [] : describeMalformed(entry, index)))
      .slice(0, MAX_REPORTED_ENTRIES),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasType(entry: unknown): entry is JWK & { kty: string } {
  return isObject(entry) && typeof entry.kty === 'string';
}

function isUsableKey(entry: unknown): entry is JWK {
  return hasType(entry) && USABLE_TYPES.includes(entry.kty) && !('d' in entry);
}

/** @example describeMalformed({ kid: 'a' }, 1) // 'entry 1 (kid "a") has no valid kty' */
function describeMalformed(entry: unknown, index: number): string {
  if (!isObject(entry)) return `entry ${index} is not a JSON object`;
  const { kid } = entry;
  const shortKid = typeof kid === 'string' && kid.slice(0, MAX_KID_CHARACTERS).toWellFormed();
  const name = shortKid === false ? '' : ` (kid ${JSON.stringify(shortKid)})`;
  return `entry ${index}${name} has no valid kty`;
}
