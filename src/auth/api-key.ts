/** The `x-api-key` credential (specification: Authentication). */

/** Configured keys in the form that is compared, all of one size; made once for each configuration. */
const comparableKeys = new WeakMap<readonly string[], readonly Uint8Array[]>();

/** The length of a text stands before its bytes, so that one which was cut is equal to no key. */
const LENGTH_BYTES = 4;

/**
 * Whether `sent` is one of the configured keys. Constant time: the same number of bytes is compared
 * whatever was sent, and with every key, so that the time taken tells nothing about any of them.
 */
export function isApiKey(sent: string, keys: readonly string[]): boolean {
  const known = comparableKeys.get(keys) ?? makeComparable(keys);
  const candidate = comparable(sent, known[0]?.length ?? LENGTH_BYTES);
  let matches = false;
  for (const key of known) {
    if (crypto.subtle.timingSafeEqual(candidate, key)) matches = true;
  }
  return matches;
}

function makeComparable(keys: readonly string[]): readonly Uint8Array[] {
  const longest = Math.max(0, ...keys.map((key) => new TextEncoder().encode(key).length));
  const known = keys.map((key) => comparable(key, LENGTH_BYTES + longest));
  comparableKeys.set(keys, known);
  return known;
}

/** `size` bytes: the length of the text, as much of it as fits, and zeros. */
function comparable(text: string, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(0, text.length);
  new TextEncoder().encodeInto(text, bytes.subarray(LENGTH_BYTES));
  return bytes;
}
