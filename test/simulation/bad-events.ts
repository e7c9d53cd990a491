/** Plausible mistakes of the ingest: each takes a function of the service, and returns a wrong one. */

import type { findCachedResponse } from '../../src/events/replay-cache.ts';
import { type acceptKeyed, lookUpKeys } from '../../src/events/store.ts';

/** No event holds a key after this time. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Two requests may both find the key free. */
export function checkThenInsert(real: typeof acceptKeyed): typeof acceptKeyed {
  return async (database, requests, context) => {
    const before = await lookUpKeys(database, requests, context);
    if (before.every(({ kind }) => kind !== 'free')) return before;
    return real(database, requests, { ...context, heldSince: NEVER });
  };
}

export function storeOneByOne(real: typeof acceptKeyed): typeof acceptKeyed {
  return async (database, requests, context) => {
    const decisions = [];
    for (const each of requests) decisions.push(...(await real(database, [each], context)));
    return decisions;
  };
}

export function trustKvForEver(real: typeof findCachedResponse): typeof findCachedResponse {
  return (cache, identity, context) => real(cache, identity, { ...context, heldSince: 0 });
}
