/** Fetches a provider's key set, and caches it beyond one isolate: in the edge cache. */

import * as z from 'zod';
import { logFault } from '../http/log.ts';
import { withDeadline } from '../storage/deadline.ts';
import { edgeAddressOf } from '../storage/edge-address.ts';

const EDGE_CACHE_DEADLINE_MS = 1_000;
const CACHED_SECONDS = 86_400;
const KIND = 'key-sets';

const publishedSet = z
  .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
  .transform(({ keys }) => ({ keys: keys.filter(isUsable) }))
  .refine(({ keys }) => keys.length > 0, { error: 'a key set without a usable key' });

/** A key set, and the time at which the provider gave it, in milliseconds since the epoch. */
const fetchedKeySet = z.object({ fetchedAt: z.number(), jwks: publishedSet });

export type FetchedKeySet = z.infer<typeof fetchedKeySet>;

/** Asks the provider. Throws unless it answers with a key set in time. */
export async function fetchKeySet(url: string, milliseconds: number): Promise<FetchedKeySet> {
  const response = await fetch(url, {
    headers: { Accept: 'application/json, application/jwk-set+json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(milliseconds),
  });
  if (response.status !== 200) throw new Error(`key set: status ${response.status}`);
  return { fetchedAt: Date.now(), jwks: publishedSet.parse(await response.json()) };
}

/** Returns the set that an isolate of this data centre has cached, or `undefined`. Never rejects. */
export async function readCachedKeySet(
  url: string,
  requestUrl: string,
): Promise<FetchedKeySet | undefined> {
  try {
    const match = caches.default.match(edgeAddressOf(requestUrl, KIND, url));
    const response = await withDeadline(match, EDGE_CACHE_DEADLINE_MS, 'edge cache');
    return response && fetchedKeySet.parse(await response.json());
  } catch (error) {
    logFault('the cached key set could not be read', error);
    return undefined;
  }
}

/** Caches the set in the data centre. Never rejects. */
export async function cacheKeySet(
  url: string,
  requestUrl: string,
  fetched: FetchedKeySet,
): Promise<void> {
  try {
    const headers = { 'Cache-Control': `max-age=${CACHED_SECONDS}` };
    await caches.default.put(
      edgeAddressOf(requestUrl, KIND, url),
      Response.json(fetched, { headers }),
    );
  } catch (error) {
    logFault('the key set could not be cached', error);
  }
}

/** Refuses other kinds of key, and a private key that was published (RFC 7517 section 5). */
function isUsable(key: { kty: string }): boolean {
  return ['RSA', 'EC', 'OKP'].includes(key.kty) && !('d' in key);
}
