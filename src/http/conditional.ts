/** Strong entity tags and `If-None-Match` (RFC 9110 sections 8.8.3 and 13.1.2). */

const TAG_BYTES = 16;

/** Makes the strong `ETag` of the bytes: equal bytes have equal tags. */
export async function etagOf(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return `"${digest.subarray(0, TAG_BYTES).toHex()}"`;
}

/**
 * Reports whether the client already holds the representation. The comparison is weak, as section
 * 13.1.2 asks: an intermediary that compresses an answer marks its tag `W/`.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
