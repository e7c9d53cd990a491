/** Responds to conditional requests (RFC 9110 section 13). */

import type { Context } from 'hono';

/** Creates a 304 if `If-None-Match` contains the `ETag`, and a 200 otherwise. */
export function createConditionalResponse(c: Context, body: Blob, headers: Headers): Response {
  const ifNoneMatch = c.req.header('If-None-Match');
  const isUnchanged =
    ifNoneMatch !== undefined && includesTag(ifNoneMatch, headers.get('ETag') ?? '');
  return new Response(isUnchanged ? null : body, { status: isUnchanged ? 304 : 200, headers });
}

/**
 * Whether `If-None-Match` contains an `ETag`. A proxy that compresses responses marks the tag
 * with `W/` or adds a suffix: `"…-gzip"` (Apache), `"…;gzip"`, `"…-br"`. So tags are compared weakly
 * (RFC 9110 section 13.1.2) and without the suffix.
 */
function includesTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => {
    const strongTag = tag.trim().replace(/^W\//, '');
    return strongTag.replace(/[-;](gzip|br)"$/, '"') === etag;
  });
}
