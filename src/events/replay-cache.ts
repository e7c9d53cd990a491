/**
 * Caches the first response to each key in KV, for retries while D1 is slow or failing. KV never
 * decides whether an event is new, because it has no compare-and-set, caches misses, and shows a write
 * in other locations only after a minute or more.
 *
 * An entry is written once, after the commit in D1. Its `accepted_at` determines how long it is valid.
 * Entries outlive a rewind of the database (docs/operate/runbook.md).
 */

import { withDeadline } from '../deadline.ts';
import { logError } from '../http/log.ts';
import type { EventResource } from './openapi/event.ts';
import type { Identity } from './request.ts';
import type { StoreContext } from './store.ts';

const KV_DEADLINE_MS = 1_000;

/** A cached response. `accepted_at` is in milliseconds since the epoch. */
type Entry = { fingerprint: string; accepted_at: number; response: EventResource };

type CacheLookup =
  | { kind: 'replayed'; event: EventResource }
  | { kind: 'conflict' }
  /** KV has no valid entry, or has failed. */
  | { kind: 'unknown' };

/** Looks up the response to a key. Never rejects. */
export async function findCachedResponse(
  cache: KVNamespace,
  { keyId, fingerprint }: Identity,
  { keysValidSince }: StoreContext,
): Promise<CacheLookup> {
  try {
    const read = cache.get<Entry>(keyId, 'json');
    const entry = await withDeadline(read, KV_DEADLINE_MS, 'KV read');
    // An entry in another format has no `accepted_at`, so it is not valid.
    const isValid = entry !== null && entry.accepted_at > keysValidSince;
    if (!isValid) return { kind: 'unknown' };
    if (entry.fingerprint !== fingerprint) return { kind: 'conflict' };
    return { kind: 'replayed', event: { ...entry.response, status: 'idempotent' } };
  } catch (error) {
    logError('KV read failed', error);
    return { kind: 'unknown' };
  }
}

/** Caches the first response to a key for as long as the key is in use. Never rejects. */
export async function cacheResponse(
  cache: KVNamespace,
  { keyId, fingerprint }: Identity,
  response: EventResource,
  { now, keysValidSince }: StoreContext,
): Promise<void> {
  const entry: Entry = { fingerprint, accepted_at: now, response };
  try {
    const retentionSeconds = (now - keysValidSince) / 1_000;
    const options = { expirationTtl: retentionSeconds };
    const write = cache.put(keyId, JSON.stringify(entry), options);
    await withDeadline(write, KV_DEADLINE_MS, 'KV write');
  } catch (error) {
    logError('KV write failed', error);
  }
}
