/** The `x-api-key` credential (specification: Authentication). */

/** Digests of the configured keys, made once for each configuration. */
const digestsByKeys = new WeakMap<readonly string[], readonly ArrayBuffer[]>();

/**
 * Whether `sent` is one of the configured keys. Constant time: digests of equal length are
 * compared, and all of them, so that the time taken tells nothing about any key.
 */
export async function isApiKey(sent: string, keys: readonly string[]): Promise<boolean> {
  let digests = digestsByKeys.get(keys);
  if (digests === undefined) {
    digests = await Promise.all(keys.map(digestOf));
    digestsByKeys.set(keys, digests);
  }
  const candidate = await digestOf(sent);
  let matches = false;
  for (const digest of digests) {
    if (crypto.subtle.timingSafeEqual(candidate, digest)) matches = true;
  }
  return matches;
}

function digestOf(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
}
