/**
 * Caches first responses by key in KV, to answer a retry while D1 is slow or down.
 *
 * KV never decides. It has no compare-and-set; a write is seen elsewhere after a minute or more; it caches a miss as it
 * caches a value, so an entry may stay unseen; a key takes one write per second; an entry lives for at least 60
 * seconds. So an entry is written once, after the commit in D1, and is valid by its own `accepted_at`, not by KV's
 * expiry. A failure of KV is logged, never thrown.
 *
 * An entry does not name the database's generation: to compare it, D1 would have to answer, and an entry is needed when
 * D1 does not. So an entry outlives a set-back of the database: see docs/operate/runbook.md.
 */

import * as z from 'zod';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import type { Identity } from './request.ts';
import { type EventResource, event } from './resource.ts';
import { holdsKey, type Receiving } from './store.ts';

const KV_DEADLINE_MS = 1_000;

const cachedResponse = z.strictObject({
  fingerprint: z.string(),
  /** Milliseconds since the epoch. */
  accepted_at: z.int(),
  response: event,
});

type CachedResponse = z.infer<typeof cachedResponse>;

/** The answer of KV to a request. */
type CacheAnswer =
  /** The key is held by the same body, which got this response. */
  | { kind: 'match'; response: EventResource }
  /** The key is held by another body. */
  | { kind: 'mismatch' }
  /** KV has no entry that still holds the key, or KV has failed. */
  | { kind: 'unknown' };

type CacheContext = { cache: KVNamespace; retentionSeconds: number };

/** Asks KV about a request. Never rejects. */
export async function askCache(
  { keyId, fingerprint }: Identity,
  request: Receiving,
  { cache }: CacheContext,
): Promise<CacheAnswer> {
  try {
    const value = await withDeadline(cache.get(keyId, 'json'), KV_DEADLINE_MS, 'KV read');
    const { data: entry } = cachedResponse.safeParse(value);
    if (!entry || !holdsKey(entry.accepted_at, request)) return { kind: 'unknown' };
    const isSameBody = entry.fingerprint === fingerprint;
    return isSameBody ? { kind: 'match', response: entry.response } : { kind: 'mismatch' };
  } catch (error) {
    logFault('KV read failed', error);
    return { kind: 'unknown' };
  }
}

/** Caches the response to the request that stored the event. Never rejects. */
export async function cacheResponse(
  response: EventResource,
  { keyId, fingerprint }: Identity,
  { now }: Receiving,
  { cache, retentionSeconds }: CacheContext,
): Promise<void> {
  const entry: CachedResponse = { fingerprint, accepted_at: now, response };
  try {
    const options = { expirationTtl: retentionSeconds };
    const write = cache.put(keyId, JSON.stringify(entry), options);
    await withDeadline(write, KV_DEADLINE_MS, 'KV write');
  } catch (error) {
    logFault('KV write failed', error);
  }
}
