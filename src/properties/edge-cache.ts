/**
 * The second cache level: answers in the Cache API of this data centre.
 *
 * The Cache API may forget at any time, does nothing on a `workers.dev` address, and starts to count
 * an answer's age at the put, so an answer carries the time of its D1 read. The addresses are looked
 * up after authentication only, and no route serves them.
 */

import { withDeadline } from '../storage/deadline.ts';
import { edgeAddressOf } from '../storage/edge-address.ts';
import { type Answer, answerOf } from './answer.ts';

const DEADLINE_MS = 1_000;
const READ_AT = 'X-Read-At';

/** Answers by key. Every call is bounded in time, and rejects when the Cache API fails. */
export type EdgeCache = {
  find(key: string): Promise<Answer | undefined>;
  /** Caches the answer for up to `seconds`. */
  put(key: string, answer: Answer, seconds: number): Promise<void>;
  forget(key: string): Promise<void>;
};

/** Returns the cache for a request. */
export function edgeCacheAt(requestUrl: string): EdgeCache {
  const cache = caches.default;
  const addressOf = (key: string) => edgeAddressOf(requestUrl, 'answers', key);
  return {
    async find(key) {
      const found = await withDeadline(cache.match(addressOf(key)), DEADLINE_MS, 'edge cache read');
      const etag = found?.headers.get('ETag');
      const readAt = Number(found?.headers.get(READ_AT));
      if (found === undefined || !etag || !readAt) return undefined;
      const body = await withDeadline(found.arrayBuffer(), DEADLINE_MS, 'edge cache body');
      return answerOf(body, etag, readAt);
    },
    async put(key, { body, etag, readAt }, seconds) {
      const headers = {
        'Cache-Control': `public, max-age=${seconds}`,
        ETag: etag,
        [READ_AT]: String(readAt),
      };
      const put = cache.put(addressOf(key), new Response(body, { headers }));
      await withDeadline(put, DEADLINE_MS, 'edge cache write');
    },
    async forget(key) {
      await withDeadline(cache.delete(addressOf(key)), DEADLINE_MS, 'edge cache delete');
    },
  };
}
