/**
 * Ingests an event: from the body and the key of a request to an outcome.
 *
 * D1 decides, and KV is asked at the same time. A match in KV answers at once. A mismatch in KV refuses a request only
 * when D1 has failed.
 */

import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { logFault } from '../http/log.ts';
import type { Parsed } from '../http/validate.ts';
import { conflictDetails } from './conflict.ts';
import { askCache, cacheResponse } from './replay-cache.ts';
import { type Identity, type IngestRequest, identityOf, parseIngestRequest } from './request.ts';
import { type EventResource, idempotentEvent, pendingEvent } from './resource.ts';
import {
  acceptKeyed,
  acceptKeyless,
  bodyOf,
  type Decision,
  lookUpKeys,
  type Receiving,
} from './store.ts';

/** Everything that an ingest needs besides its request. */
export type IngestContext = {
  database: D1Database;
  cache: KVNamespace;
  retentionSeconds: number;
  /** The name of the key that posts; null for the key that opens everything. */
  receivedFrom: string | null;
  /** Milliseconds since the epoch. */
  now: number;
  /** Keeps work alive that the response does not wait for. The work must not reject. */
  background: Pick<ExecutionContext, 'waitUntil'>;
};

/** The outcome of a request. */
export type Outcome =
  | { kind: 'accepted'; event: EventResource }
  | { kind: 'replay'; event: EventResource }
  /** `details` are missing when there is no body to compare: only KV has answered, or the payload was erased. */
  | { kind: 'conflict'; details?: Problem[] }
  | { kind: 'invalid'; problems: [Problem, ...Problem[]] };

/** Stores an event without a key, under a random id that every attempt shares. */
export async function ingestWithoutKey(body: JsonObject, context: IngestContext): Promise<Outcome> {
  const parsed = parseIngestRequest(body);
  if (!parsed.ok) return { kind: 'invalid', problems: parsed.problems };
  const { database, now, receivedFrom } = context;
  const id = crypto.randomUUID();
  await acceptKeyless(database, { ...parsed.value, received_from: receivedFrom }, { id, now });
  const event = pendingEvent({ id, type: parsed.value.event_type, created_at: now });
  return { kind: 'accepted', event };
}

/**
 * Stores an event with a key, or finds the event that the key has stored. Throws D1's error when D1 fails and KV does
 * not know the key.
 */
export async function ingestWithKey(
  body: JsonObject,
  key: string,
  context: IngestContext,
): Promise<Outcome> {
  const identity = await identityOf(key, body);
  const request = receivingIn(context);
  // Both calls begin now, and neither promise rejects.
  const asking = askStore(body, identity, request, context);
  const askingCache = askCache(identity, request, context);

  const first = await Promise.race([asking, askingCache]);
  if (first.kind === 'match') {
    context.background.waitUntil(logFailure(asking));
    return { kind: 'replay', event: idempotentEvent(first.response) };
  }

  const stored = await asking;
  if (stored.kind !== 'failed') return stored;

  const cached = await askingCache;
  if (cached.kind === 'unknown') throw stored.error;
  await logFailure(asking);
  return cached.kind === 'match'
    ? { kind: 'replay', event: idempotentEvent(cached.response) }
    : { kind: 'conflict' };
}

/** Returns the part of a request that all of its events share. */
export function receivingIn(context: IngestContext): Receiving {
  return {
    receipt: crypto.randomUUID(),
    received_from: context.receivedFrom,
    now: context.now,
    retentionMs: context.retentionSeconds * 1_000,
  };
}

type Failed = { kind: 'failed'; error: unknown };

/**
 * Asks D1 for the outcome. The events that the key has stored decide before the schema: a body that does not fit its
 * schema is looked up, and is refused as invalid only when its key is free. Never rejects.
 */
async function askStore(
  body: JsonObject,
  identity: Identity,
  request: Receiving,
  context: IngestContext,
): Promise<Outcome | Failed> {
  const { database, background } = context;
  const parsed = parseIngestRequest(body);
  try {
    const [decision] = parsed.ok
      ? await acceptKeyed(database, [{ ...identity, ...parsed.value }], request)
      : await lookUpKeys(database, [identity], request);
    if (decision === undefined) throw new Error('D1 decides for each event');
    const outcome = outcomeOf(decision, body, parsed);
    if (outcome.kind === 'accepted') {
      background.waitUntil(cacheResponse(outcome.event, identity, request, context));
    }
    return outcome;
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** Returns the outcome of D1's decision about a body. Pure. */
export function outcomeOf(
  decision: Decision,
  body: JsonObject,
  parsed: Parsed<IngestRequest>,
): Outcome {
  switch (decision.kind) {
    case 'accepted':
      return { kind: 'accepted', event: pendingEvent(decision.event) };
    case 'replay':
      return { kind: 'replay', event: idempotentEvent(pendingEvent(decision.event)) };
    case 'conflict': {
      const held = bodyOf(decision.holder);
      if (held === undefined) return { kind: 'conflict' };
      const details = conflictDetails(held, parsed.ok ? parsed.value : body, body);
      return { kind: 'conflict', details };
    }
    case 'free':
      if (parsed.ok) throw new Error('The guarded insert neither stored an event nor found one.');
      return { kind: 'invalid', problems: parsed.problems };
  }
}

/** Logs a failure of D1 that the caller does not see, because KV has answered. */
async function logFailure(asking: Promise<Outcome | Failed>): Promise<void> {
  const answer = await asking;
  if (answer.kind === 'failed') logFault('D1 failed; KV answered', answer.error);
}
