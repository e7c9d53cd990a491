/** A finished answer of the feed: its bytes and their tag, made once and sent many times. */

import { etagOf, matchesEtag } from '../http/conditional.ts';

/** A 200 without its `Age`. */
export type Answer = {
  /** A Blob, because a response copies bytes once more. */
  body: Blob;
  /** The headers of a 200 and of a 304. */
  headers: Headers;
  etag: string;
  /** The time of the D1 read, in milliseconds since the epoch. */
  readAt: number;
};

/** Makes the answer of a JSON text. */
export async function makeAnswer(json: string, readAt: number): Promise<Answer> {
  const bytes = new TextEncoder().encode(json);
  return answerOf(bytes, await etagOf(bytes), readAt);
}

/** Makes the answer of bytes whose tag is known. */
export function answerOf(bytes: Uint8Array | ArrayBuffer, etag: string, readAt: number): Answer {
  const headers = new Headers({ 'Cache-Control': 'private, no-cache', ETag: etag });
  return { body: new Blob([bytes], { type: 'application/json' }), headers, etag, readAt };
}

/** Makes a 200 with the bytes, or a 304 when the client holds them already. */
export function responseOf(
  { body, headers, etag }: Answer,
  ifNoneMatch: string | undefined,
): Response {
  return matchesEtag(ifNoneMatch, etag)
    ? new Response(null, { status: 304, headers })
    : new Response(body, { headers });
}
