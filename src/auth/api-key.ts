/** The `x-api-key` credential (specification: Authentication). */

/**
 * Whether `sent` is one of the configured keys. Constant time: digests of equal length are
 * compared, and all of them, so that the time taken tells nothing about any key.
 */
export async function isApiKey(sent: string, keys: readonly string[]): Promise<boolean> {
  const [candidate, ...known] = await Promise.all([sent, ...keys].map(digestOf));
  let matches = false;
  for (const key of known) {
    if (candidate !== undefined && crypto.subtle.timingSafeEqual(candidate, key)) matches = true;
  }
  return matches;
}

/** SHA-256 digests of the configured keys are made once an isolate; a caller's each time. */
function digestOf(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
}
