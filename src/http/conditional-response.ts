/** Conditional requests (RFC 9110 section 13). */

import type { Context } from 'hono';

/** Makes a 304 if `If-None-Match` has the `ETag`, else a 200. */
export function conditionalResponse(c: Context, body: Blob, headers: Headers): Response {
  const sent = c.req.header('If-None-Match');
  const isUnchanged = sent !== undefined && namesTag(sent, headers.get('ETag') ?? '');
  return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : 200, headers });
}

/**
 * A proxy that compresses marks the tag `W/`, or adds a suffix: `"…-gzip"` (Apache), `"…;gzip"`,
 * `"…-br"`. Compare weakly (RFC 9110 section 13.1.2), without the suffix.
 */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => {
    const own = tag.trim().replace(/^W\//, '');
    return own.replace(/[-;](gzip|br)"$/, '"') === etag;
  });
}
