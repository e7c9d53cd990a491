/** Where a provider's key set comes from, and where it is kept beyond one isolate: the edge cache. */

import * as z from 'zod';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';

const EDGE_CACHE_DEADLINE_MS = 1_000;
const KEPT_SECONDS = 86_400;

const publishedSet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .transform(({ keys }) => ({ keys: keys.filter(isUsable) }))
  .refine(({ keys }) => keys.length > 0, { error: 'a key set without a usable key' });

/** A key set, and when the provider gave it, in milliseconds since the epoch. */
const keptKeySet = z.object({ fetchedAt: z.number(), jwks: publishedSet });

export type KeptKeySet = z.infer<typeof keptKeySet>;

/** Asks the provider. Throws when it does not answer in time, or not with a key set. */
export async function fetchKeySet(url: string, milliseconds: number): Promise<KeptKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(milliseconds),
  });
  if (response.status !== 200) throw new Error(`key set: status ${response.status}`);
  return { fetchedAt: Date.now(), jwks: publishedSet.parse(await response.json()) };
}

/** The set that an isolate of this data centre has kept; undefined when there is none to be had. */
export async function readKeptKeySet(url: string): Promise<KeptKeySet | undefined> {
  try {
    const match = caches.default.match(cacheKeyOf(url));
    const response = await withDeadline(match, EDGE_CACHE_DEADLINE_MS, 'edge cache');
    return response && keptKeySet.parse(await response.json());
  } catch (error) {
    logFault('kept key set could not be read', undefined, error);
    return undefined;
  }
}

/** Never rejects. */
export async function keepKeySet(url: string, kept: KeptKeySet): Promise<void> {
  try {
    const headers = { 'Cache-Control': `max-age=${KEPT_SECONDS}` };
    await caches.default.put(cacheKeyOf(url), Response.json(kept, { headers }));
  } catch (error) {
    logFault('key set could not be kept', undefined, error);
  }
}

/** Other kinds, and a private key that was published, are passed over (RFC 7517 section 5). */
function isUsable(key: { kty: string }): boolean {
  return ['RSA', 'EC', 'OKP'].includes(key.kty) && !('d' in key);
}

/** An address of this service's own, so that nothing that it fetches is mistaken for a kept set. */
function cacheKeyOf(url: string): string {
  return `https://key-set.invalid/?url=${encodeURIComponent(url)}`;
}
