/**
 * Ingests one event: from the body and the key of a request to an outcome.
 *
 * D1 decides, and KV is asked beside it. A match in KV answers at once. A mismatch in KV refuses a
 * request only when D1 has failed.
 */

import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { logFault } from '../http/log.ts';
import type { KeyedRequest } from './decision.ts';
import { conflictDetails } from './difference.ts';
import { keyIdOf } from './event-id.ts';
import { fingerprintOf } from './fingerprint.ts';
import { askCache, cacheResponse } from './replay-cache.ts';
import { parseIngestRequest } from './request.ts';
import { type EventResource, idempotentEvent, pendingEvent } from './resource.ts';
import { acceptKeyed, acceptKeyless, bodyOf, lookUpKey } from './store.ts';

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
  inBackground: (work: Promise<void>) => void;
};

/** The outcome of a request. */
export type Outcome =
  | { kind: 'accepted'; event: EventResource }
  | { kind: 'replay'; event: EventResource }
  /** `details` are left out when there is no body to compare: only KV could answer, or it was erased. */
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
 * Stores an event with a key, or finds what the key has stored. Throws D1's error when D1 fails and
 * KV does not know the key.
 */
export async function ingestWithKey(
  body: JsonObject,
  key: string,
  context: IngestContext,
): Promise<Outcome> {
  const request: KeyedRequest = {
    keyId: keyIdOf(key),
    fingerprint: await fingerprintOf(body),
    receipt: crypto.randomUUID(),
    now: context.now,
    retentionMs: context.retentionSeconds * 1_000,
  };
  // Both run at once, and neither rejects.
  const stored = askStore(body, request, context);
  const cached = askCache(request, context);

  const first = await Promise.race([stored, cached]);
  if (first.kind === 'match') {
    context.inBackground(logIfFailed(stored));
    return { kind: 'replay', event: idempotentEvent(first.response) };
  }

  const fromStore = await stored;
  if (fromStore.kind === 'settled') return fromStore.outcome;

  // D1 has failed, so KV answers if it can.
  const fromCache = await cached;
  switch (fromCache.kind) {
    case 'match':
      await logIfFailed(stored);
      return { kind: 'replay', event: idempotentEvent(fromCache.response) };
    case 'mismatch':
      await logIfFailed(stored);
      return { kind: 'conflict' };
    case 'unknown':
      throw fromStore.error;
  }
}

type StoreAnswer = { kind: 'settled'; outcome: Outcome } | { kind: 'failed'; error: unknown };

/** Asks D1 for the outcome. Never rejects. */
async function askStore(
  body: JsonObject,
  request: KeyedRequest,
  context: IngestContext,
): Promise<StoreAnswer> {
  try {
    return { kind: 'settled', outcome: await settle(body, request, context) };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/**
 * Settles a request in D1. The events that the key has stored answer before the schema does: a body
 * that does not fit the schema is looked up, and is invalid only when its key is free.
 */
async function settle(
  body: JsonObject,
  request: KeyedRequest,
  context: IngestContext,
): Promise<Outcome> {
  const { database, receivedFrom } = context;
  const parsed = parseIngestRequest(body);
  const decision = parsed.ok
    ? await acceptKeyed(database, { ...parsed.value, received_from: receivedFrom }, request)
    : await lookUpKey(database, request);
  switch (decision.kind) {
    case 'accepted': {
      const event = pendingEvent(decision.event);
      context.inBackground(cacheResponse(event, request, context));
      return { kind: 'accepted', event };
    }
    case 'replay':
      return { kind: 'replay', event: idempotentEvent(pendingEvent(decision.event)) };
    case 'conflict': {
      const held = bodyOf(decision.holder);
      if (held === undefined) return { kind: 'conflict' };
      return {
        kind: 'conflict',
        details: conflictDetails(held, parsed.ok ? parsed.value : body, body),
      };
    }
    case 'free':
      if (parsed.ok) throw new Error('The guarded insert neither stored an event nor found one.');
      return { kind: 'invalid', problems: parsed.problems };
  }
}

/** Logs a failure of D1 that the caller does not see, because KV has answered. */
async function logIfFailed(stored: Promise<StoreAnswer>) {
  const answer = await stored;
  if (answer.kind === 'failed') logFault('D1 failed; KV answered', answer.error);
}
