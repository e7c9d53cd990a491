/**
 * Takes one event: from a request's body and key to what becomes of it.
 *
 * D1 decides. KV is asked beside it, and its word counts only where it can: a match is a replay at
 * once, a mismatch stands in for D1 only when D1 has failed.
 */

import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-limits.ts';
import { logFault } from '../http/log.ts';
import type { Parsed } from '../http/validate.ts';
import { holdsKey, type KeyedEvent, type KeyedRequest } from './decision.ts';
import { differingPaths } from './difference.ts';
import { keyIdOf } from './event-id.ts';
import { fingerprintOf } from './fingerprint.ts';
import { findReplay, keepReplay, type ReplayEntry } from './replay-cache.ts';
import { type IngestRequest, parseIngestRequest } from './request.ts';
import type { EventResource } from './resource.ts';
import { acceptKeyed, acceptKeyless, bodyOf, lookUpKey } from './store.ts';

/** What an ingest needs besides its request. */
export type Surroundings = {
  database: D1Database;
  cache: KVNamespace;
  retentionSeconds: number;
  /** Milliseconds since the epoch. */
  now: number;
  requestId: string;
  /** Keeps work alive that the answer does not wait for; the work never rejects. */
  inBackground: (work: Promise<void>) => void;
};

type Refusal = Extract<Parsed<IngestRequest>, { ok: false }>;

/** What became of a request. */
export type Outcome =
  | { kind: 'accepted'; event: EventResource }
  | { kind: 'replay'; event: EventResource }
  /** Without `differences` when the body that holds the key could not be read. */
  | { kind: 'conflict'; differences?: Problem[] }
  | { kind: 'invalid'; problems: Refusal['problems'] };

/** An event without a key: stored under a random id, which is fixed before the first attempt. */
export async function ingestWithoutKey(body: JsonObject, around: Surroundings): Promise<Outcome> {
  const parsed = parseIngestRequest(body);
  if (!parsed.ok) return { kind: 'invalid', problems: parsed.problems };
  const id = crypto.randomUUID();
  await acceptKeyless(around.database, parsed.value, { id, now: around.now });
  const { event_type: type } = parsed.value;
  return { kind: 'accepted', event: pendingEvent({ id, type, created_at: around.now }) };
}

/**
 * An event with a key. A stored key answers before the schema does: a body that fits none is only
 * looked up. Rejects when D1 fails and KV does not know the key.
 */
export async function ingestWithKey(
  body: JsonObject,
  key: string,
  around: Surroundings,
): Promise<Outcome> {
  const lookup = {
    keyId: keyIdOf(key),
    fingerprint: await fingerprintOf(body),
    receipt: crypto.randomUUID(),
    now: around.now,
    retentionMs: around.retentionSeconds * 1_000,
  };
  const stored = askStore(body, lookup, around);
  const cached = askCache(lookup, around);
  const replayed = cached.then((entry) => {
    if (entry?.fingerprint !== lookup.fingerprint) throw new Error('KV knows no such request');
    around.inBackground(loggingFaults(stored, 'D1 failed behind a replay from KV', around));
    return { kind: 'replay', event: replayOf(entry.response) } satisfies Outcome;
  });
  try {
    return await Promise.any([stored, replayed]);
  } catch {
    const entry = await cached;
    if (entry === undefined) return stored;
    await loggingFaults(stored, 'D1 failed, KV answered', around);
    return { kind: 'conflict' };
  }
}

async function askStore(
  body: JsonObject,
  lookup: KeyedRequest,
  around: Surroundings,
): Promise<Outcome> {
  const parsed = parseIngestRequest(body);
  const decision = parsed.ok
    ? await acceptKeyed(around.database, parsed.value, lookup)
    : await lookUpKey(around.database, lookup);
  switch (decision.kind) {
    case 'accepted': {
      const response = pendingEvent(decision.event);
      keepInBackground(response, lookup, around);
      return { kind: 'accepted', event: response };
    }
    case 'replay':
      return { kind: 'replay', event: replayOf(pendingEvent(decision.event)) };
    case 'conflict':
      return {
        kind: 'conflict',
        differences: differencesOf(bodyOf(decision.holder), body, parsed),
      };
    case 'free':
      if (parsed.ok) throw new Error('a valid request leaves no key free');
      return { kind: 'invalid', problems: parsed.problems };
  }
}

/** The entry of the key that holds it now; undefined when there is none or KV fails. Never rejects. */
async function askCache(
  { keyId, now, retentionMs }: KeyedRequest,
  { cache, requestId }: Surroundings,
): Promise<ReplayEntry | undefined> {
  try {
    const entry = await findReplay(cache, keyId);
    return entry && holdsKey(entry.accepted_at, now, retentionMs) ? entry : undefined;
  } catch (error) {
    logFault('KV read failed', requestId, error);
    return undefined;
  }
}

function keepInBackground(response: EventResource, lookup: KeyedRequest, around: Surroundings) {
  const entry = { fingerprint: lookup.fingerprint, accepted_at: lookup.now, response };
  const write = keepReplay(around.cache, lookup.keyId, entry, around.retentionSeconds);
  around.inBackground(loggingFaults(write, 'KV write failed', around));
}

async function loggingFaults(
  work: Promise<unknown>,
  message: string,
  { requestId }: Surroundings,
): Promise<void> {
  try {
    await work;
  } catch (error) {
    logFault(message, requestId, error);
  }
}

/**
 * Where a refused body differs from the one that holds the key, both in the form that is stored
 * (UUIDs in lower case). Bodies that differ in nothing else differ in the case of a UUID: told at
 * its path if it came in capitals now, of the body as a whole if it came in capitals then.
 */
function differencesOf(stored: unknown, body: JsonObject, parsed: Parsed<IngestRequest>) {
  for (const sent of [parsed.ok ? parsed.value : body, body]) {
    const paths = differingPaths(sent, stored);
    if (paths.length > 0) {
      return paths.map((path) => ({
        path,
        message: 'differs from the request that holds the key',
      }));
    }
  }
  return [
    { path: '', message: 'differs in the case of a UUID from the request that holds the key' },
  ];
}

function pendingEvent({ id, type, ...row }: Pick<KeyedEvent, 'id' | 'type' | 'created_at'>) {
  const created_at = new Date(row.created_at).toISOString();
  return { object: 'event', id, type, status: 'pending', created_at } satisfies EventResource;
}

/** The first response as a repeat of its request gets it. */
function replayOf(response: EventResource): EventResource {
  return { ...response, status: 'idempotent' };
}
