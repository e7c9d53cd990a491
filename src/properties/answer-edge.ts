/**
 * The second cache level: finished answers in the Cache API of this data centre.
 *
 * It is per data centre, may forget at any time, and does nothing on a `workers.dev` address. It
 * keeps no age that can be trusted across a put, so an answer carries when it was read. What is
 * stored here is looked up only after authentication, under an address that no route serves.
 */

import { withDeadline } from '../storage/deadline.ts';
import { type Answer, finishedAnswer } from './answer.ts';

const DEADLINE_MS = 1_000;
const READ_AT = 'X-Read-At';

/** What `findAnswer` needs of the second level. Keys name canonical requests. */
export type AnswerEdge = {
  find(key: string): Promise<Answer | undefined>;
  put(key: string, answer: Answer): Promise<void>;
  delete(key: string): Promise<void>;
};

/**
 * `origin` is the service's own: a cache takes addresses of its zone only. Every call is bounded and
 * rejects when the cache fails; `keepSeconds` is how long an answer may be kept at all.
 */
export function edgeAnswers(cache: Cache, origin: () => string, keepSeconds: number): AnswerEdge {
  const addressOf = (key: string) => `${origin()}/.answers/${encodeURIComponent(key)}`;
  return {
    async find(key) {
      const kept = await withDeadline(cache.match(addressOf(key)), DEADLINE_MS, 'edge cache read');
      const etag = kept?.headers.get('ETag');
      const readAt = Number(kept?.headers.get(READ_AT));
      if (kept === undefined || !etag || !readAt) return undefined;
      const body = await withDeadline(kept.arrayBuffer(), DEADLINE_MS, 'edge cache body');
      return finishedAnswer(body, etag, readAt);
    },
    async put(key, { body, etag, readAt }) {
      const headers = {
        'Cache-Control': `public, max-age=${keepSeconds}`,
        ETag: etag,
        [READ_AT]: String(readAt),
      };
      const put = cache.put(addressOf(key), new Response(body, { headers }));
      await withDeadline(put, DEADLINE_MS, 'edge cache write');
    },
    async delete(key) {
      await withDeadline(cache.delete(addressOf(key)), DEADLINE_MS, 'edge cache delete');
    },
  };
}
