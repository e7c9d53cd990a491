/**
 * First responses by key in KV: what answers a retry while D1 is slow or down.
 *
 * KV can settle nothing: it has no compare-and-set; a write is seen elsewhere after a minute or
 * more; a miss is cached as a value is, so that an entry may stay unseen; a key takes one write a
 * second, and nothing is kept for less than 60 seconds. So an entry is written once, only after the
 * commit in D1, and counts by the time it states itself, not by KV's expiry.
 */

import * as z from 'zod';
import { withDeadline } from '../storage/deadline.ts';
import { event } from './resource.ts';

const KV_DEADLINE_MS = 1_000;

const replayEntry = z.strictObject({
  fingerprint: z.string(),
  /** Milliseconds since the epoch. */
  accepted_at: z.int(),
  /** The first response's body. */
  response: event,
});

export type ReplayEntry = z.infer<typeof replayEntry>;

/** The entry of a key; undefined when KV has none or one of another shape. Rejects when KV fails or is slow. */
export async function findReplay(kv: KVNamespace, keyId: string): Promise<ReplayEntry | undefined> {
  const value = await withDeadline(kv.get(keyId, 'json'), KV_DEADLINE_MS, 'KV read');
  const entry = replayEntry.safeParse(value);
  return entry.success ? entry.data : undefined;
}

/** Keeps a first response for `retentionSeconds`, at least 60. */
export async function keepReplay(
  kv: KVNamespace,
  keyId: string,
  entry: ReplayEntry,
  retentionSeconds: number,
): Promise<void> {
  const write = kv.put(keyId, JSON.stringify(entry), { expirationTtl: retentionSeconds });
  await withDeadline(write, KV_DEADLINE_MS, 'KV write');
}
