/** A finished answer of the feed: its bytes and their tag, made once and sent many times. */

import { etagOf, matchesEtag } from '../http/conditional.ts';

/** Everything of a 200 but `Age`. */
export type Answer = {
  /** Not bytes: made of those, a response copies them once more than it does a Blob. */
  body: Blob;
  /** Of a 200 and a 304: the tag among them. */
  headers: Headers;
  etag: string;
  /** When D1 was asked, in milliseconds since the epoch: freshness counts from here. */
  readAt: number;
};

/** Makes an answer of JSON text that D1 was asked for at `readAt`, in milliseconds since the epoch. */
export async function answerOf(json: string, readAt: number): Promise<Answer> {
  const bytes = new TextEncoder().encode(json);
  return finishedAnswer(bytes, await etagOf(bytes), readAt);
}

/** An answer whose tag is known already: one that the edge cache kept. */
export function finishedAnswer(
  bytes: Uint8Array | ArrayBuffer,
  etag: string,
  readAt: number,
): Answer {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, etag, readAt };
}

/**
 * 200 with the bytes, or 304 without when the client holds them already. `Age` (seconds) only where
 * the answer is older than the feed promises.
 */
export function respondWith(
  { body, headers, etag }: Answer,
  ifNoneMatch: string | undefined,
  staleSeconds?: number,
): Response {
  const response = matchesEtag(ifNoneMatch, etag)
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers });
  if (staleSeconds !== undefined) response.headers.set('Age', String(staleSeconds));
  return response;
}
