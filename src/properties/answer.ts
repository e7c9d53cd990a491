/** A finished answer of the feed: its bytes and their tag, made once and sent many times. */

import { etagOf, matchesEtag } from '../http/conditional.ts';

export type Answer = {
  body: Uint8Array;
  etag: string;
  /** When D1 was asked, in milliseconds since the epoch: freshness counts from here. */
  readAt: number;
};

export async function answerOf(json: string, readAt: number): Promise<Answer> {
  const body = new TextEncoder().encode(json);
  return { body, etag: await etagOf(body), readAt };
}

/**
 * 200 with the bytes, or 304 without when the client holds them already. `Age` (seconds) only where
 * the answer is older than the feed promises.
 */
export function respondWith(
  answer: Answer,
  ifNoneMatch: string | undefined,
  staleSeconds?: number,
): Response {
  const headers = {
    'Cache-Control': 'private, no-cache',
    ETag: answer.etag,
    ...(staleSeconds === undefined ? {} : { Age: String(staleSeconds) }),
  };
  if (matchesEtag(ifNoneMatch, answer.etag)) return new Response(null, { status: 304, headers });
  return new Response(answer.body, {
    headers: { ...headers, 'Content-Type': 'application/json' },
  });
}
