/**
 * Ingests a single event. Calls D1 and KV in parallel:
 *
 *     KV has the key, with this body       replayed without waiting for D1
 *     otherwise                            D1 decides: accepted, replayed, conflict or invalid
 *     D1 fails; KV has the key             replayed, or conflict for another body
 *     D1 fails; KV does not have the key   D1's error is thrown
 */

import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { logError } from '../http/log.ts';
import type { Parsed } from '../http/validation-problems.ts';
import { describeDifferences } from './key-in-use.ts';
import type { EventResource } from './openapi/event.ts';
import { cacheResponse, findCachedResponse } from './replay-cache.ts';
import { type Identity, type IngestRequest, parseIngestRequest } from './request.ts';
import {
  type Decision,
  findStoredBodies,
  lookUpKeys,
  makeEventResource,
  type StoreContext,
  type StoredBodies,
  storeWithKeys,
  storeWithoutKey,
} from './store.ts';

export type IngestContext = StoreContext & {
  database: D1Database;
  cache: KVNamespace;
  /** Keeps work running after the response. The work must never reject. */
  background: Pick<ExecutionContext, 'waitUntil'>;
};

export type IngestOutcome =
  | { kind: 'accepted'; event: EventResource }
  | { kind: 'replayed'; event: EventResource }
  /** `details` is absent if only KV responded, or if `findStoredBodies` left out the body. */
  | { kind: 'conflict'; details?: Problem[] }
  | { kind: 'invalid'; problems: Problem[] };

/** Stores an event without a key. Every attempt to write it uses the same random id. */
export async function ingestWithoutKey(
  body: JsonObject,
  context: IngestContext,
): Promise<IngestOutcome> {
  const parsed = parseIngestRequest(body);
  if (!parsed.ok) return { kind: 'invalid', problems: parsed.problems };
  const id = crypto.randomUUID();
  await storeWithoutKey(context.database, id, parsed.value, context);
  const event = makeEventResource({ id, type: parsed.value.event_type, created_at: context.now });
  return { kind: 'accepted', event };
}

/** Stores an event, or finds the event that an earlier request stored with the same key. */
export async function ingestWithKey(
  body: JsonObject,
  identity: Identity,
  context: IngestContext,
): Promise<IngestOutcome> {
  // Both calls begin now, and neither promise rejects.
  const storing = storeOrFind(body, identity, context);
  const lookingUp = findCachedResponse(context.cache, identity, context);

  const first = await Promise.race([storing, lookingUp]);
  if (first.kind === 'replayed') {
    // After a replay by KV, D1 may still fail, which is logged.
    context.background.waitUntil(storing.then(logFailure));
    return first;
  }

  const stored = await storing;
  if (stored.kind !== 'failed') return stored;

  // D1 has failed, so only KV can decide.
  const cached = await lookingUp;
  if (cached.kind === 'unknown') throw stored.error;
  logFailure(stored);
  return cached;
}

type Failure = { kind: 'failed'; error: unknown };

/**
 * Stores the event in D1, or finds the event with its key. Looks up the key of an invalid body too,
 * because a key in use is reported before problems with the body. Never rejects.
 */
async function storeOrFind(
  body: JsonObject,
  identity: Identity,
  context: IngestContext,
): Promise<IngestOutcome | Failure> {
  const { database, cache, background } = context;
  const parsed = parseIngestRequest(body);
  try {
    const [decision] = parsed.ok
      ? await storeWithKeys(database, [{ ...identity, ...parsed.value }], context)
      : await lookUpKeys(database, [identity], context);
    if (decision === undefined) throw new Error('D1 decides for each event');
    const stored =
      decision.kind === 'conflict'
        ? await findStoredBodies(database, [decision], context)
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

/** Converts D1's decision to an outcome. */
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
      const stored = storedBodies?.get(decision.eventWithKey.id);
      if (stored === undefined) return { kind: 'conflict' };
      return { kind: 'conflict', details: describeDifferences(body, stored) };
    }
    case 'unused':
      if (parsed.ok) throw new Error('The guarded insert neither stored an event nor found one.');
      return { kind: 'invalid', problems: parsed.problems };
  }
}

function logFailure(result: IngestOutcome | Failure): void {
  if (result.kind === 'failed') logError('D1 failed; KV responded', result.error);
}
