/**
 * Ingests an event. D1 and KV are called in parallel:
 *
 *     KV has the key, with this body       replayed at once
 *     otherwise                            D1 decides: accepted, replayed, conflict or invalid
 *     D1 fails; KV has the key             replayed, or conflict for another body
 *     D1 fails; KV does not have the key   D1's error is thrown
 */

import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { logError } from '../http/log.ts';
import type { Parsed } from '../http/validation-problems.ts';
import { conflictDetails } from './key-in-use.ts';
import type { EventResource } from './openapi/event.ts';
import { cacheResponse, findCachedResponse } from './replay-cache.ts';
import { type Identity, type IngestRequest, parseIngestRequest } from './request.ts';
import {
  acceptKeyed,
  acceptKeyless,
  type Decision,
  findHoldingBodies,
  lookUpKeys,
  makeEventResource,
  type StoreContext,
  type StoredBodies,
} from './store.ts';

export type IngestContext = StoreContext & {
  database: D1Database;
  cache: KVNamespace;
  /** Keeps work alive that the response does not wait for, and that never rejects. */
  background: Pick<ExecutionContext, 'waitUntil'>;
};

export type IngestOutcome =
  | { kind: 'accepted'; event: EventResource }
  | { kind: 'replayed'; event: EventResource }
  /** Without `details` if only KV responded, or if `findHoldingBodies` leaves the stored body out. */
  | { kind: 'conflict'; details?: Problem[] }
  | { kind: 'invalid'; problems: Problem[] };

/** Every attempt at D1 has the same random id. */
export async function ingestWithoutKey(
  body: JsonObject,
  context: IngestContext,
): Promise<IngestOutcome> {
  const parsed = parseIngestRequest(body);
  if (!parsed.ok) return { kind: 'invalid', problems: parsed.problems };
  const id = crypto.randomUUID();
  await acceptKeyless(context.database, id, parsed.value, context);
  const event = makeEventResource({ id, type: parsed.value.event_type, created_at: context.now });
  return { kind: 'accepted', event };
}

export async function ingestWithKey(
  body: JsonObject,
  identity: Identity,
  context: IngestContext,
): Promise<IngestOutcome> {
  // Ingest, 4. Both calls begin now, and neither promise rejects.
  const storing = storeOrFind(body, identity, context);
  const lookingUp = findCachedResponse(context.cache, identity, context);

  const first = await Promise.race([storing, lookingUp]);
  if (first.kind === 'replayed') {
    // If KV replayed it, D1 may still fail, which is logged.
    context.background.waitUntil(storing.then(logFailure));
    return first;
  }

  const stored = await storing;
  if (stored.kind !== 'failed') return stored;

  // Ingest, 5. D1 has failed: KV alone decides.
  const cached = await lookingUp;
  if (cached.kind === 'unknown') throw stored.error;
  logFailure(stored);
  return cached;
}

type Failure = { kind: 'failed'; error: unknown };

/** Asks D1, for an invalid body too: a held key comes before the schema. Never rejects. */
async function storeOrFind(
  body: JsonObject,
  identity: Identity,
  context: IngestContext,
): Promise<IngestOutcome | Failure> {
  const { database, cache, background } = context;
  const parsed = parseIngestRequest(body);
  try {
    // Ingest, 6
    const [decision] = parsed.ok
      ? await acceptKeyed(database, [{ ...identity, ...parsed.value }], context)
      : await lookUpKeys(database, [identity], context);
    if (decision === undefined) throw new Error('D1 decides for each event');
    const stored =
      decision.kind === 'conflict'
        ? await findHoldingBodies(database, [decision], context)
        : undefined;
    const outcome = resolveOutcome(decision, body, parsed, stored);
    if (outcome.kind === 'accepted') {
      background.waitUntil(cacheResponse(cache, identity, outcome.event, context));
    }
    return outcome;
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Ingest, 7: turns D1's decision into an outcome. Pure. */
export function resolveOutcome(
  decision: Decision,
  body: JsonObject,
  parsed: Parsed<IngestRequest>,
  storedBodies?: StoredBodies,
): IngestOutcome {
  switch (decision.kind) {
    case 'accepted':
      return { kind: 'accepted', event: makeEventResource(decision.event) };
    case 'replayed':
      return { kind: 'replayed', event: makeEventResource(decision.event, 'idempotent') };
    case 'conflict': {
      const stored = storedBodies?.get(decision.holder.id);
      if (stored === undefined) return { kind: 'conflict' };
      return { kind: 'conflict', details: conflictDetails(body, stored) };
    }
    case 'free':
      if (parsed.ok) throw new Error('The guarded insert neither stored an event nor found one.');
      return { kind: 'invalid', problems: parsed.problems };
  }
}

function logFailure(result: IngestOutcome | Failure): void {
  if (result.kind === 'failed') logError('D1 failed; KV responded', result.error);
}
