/** The `x-api-key` credential. */

/** Configured keys in the form that is compared, all of one size; made once for each configuration. */
const comparableKeys = new WeakMap<readonly string[], readonly Uint8Array[]>();

const encoder = new TextEncoder();

/** Fills a key up to the size of the longest; no UTF-8 text holds this byte. */
const FILLER = 0xff;

/**
 * Reports whether `sent` is one of the configured keys. It takes the same time for every text: as
 * many bytes are compared whatever was sent, and with every key.
 */
export function isApiKey(sent: string, keys: readonly string[]): boolean {
  const known = comparableKeys.get(keys) ?? makeComparable(keys);
  const candidate = new Uint8Array(known[0]?.length ?? 0).fill(FILLER);
  const isWhole = encoder.encodeInto(sent, candidate).read === sent.length;
  let matches = false;
  for (const key of known) {
    if (crypto.subtle.timingSafeEqual(candidate, key)) matches = isWhole;
  }
  return matches;
}

function makeComparable(keys: readonly string[]): readonly Uint8Array[] {
  const encoded = keys.map((key) => encoder.encode(key));
  const size = Math.max(0, ...encoded.map((bytes) => bytes.length));
  const known = encoded.map((bytes) => {
    const filled = new Uint8Array(size).fill(FILLER);
    filled.set(bytes);
    return filled;
  });
  comparableKeys.set(keys, known);
  return known;
}
