/**
 * Stores events. D1 is the authority on which event holds a key.
 *
 * D1 runs one batch at a time, each as a transaction, so no other request comes between the reads and the writes of a
 * batch. D1 cannot tell whether it committed a batch whose answer was lost, so every statement here may run twice.
 */

import { sql } from 'drizzle-orm';
import { readD1, writeD1 } from '../storage/d1.ts';
import { statementOf } from '../storage/statement.ts';
import type { Identity, IngestRequest } from './request.ts';
import type { events } from './table.ts';

/** An event, and the name of the key that posted it; null for the key that opens everything. */
type ReceivedEvent = IngestRequest & { received_from: string | null };

/** The part of a request that all of its events share. */
export type Receiving = {
  /** Random, unique to this request, and stored with each event that it stores. */
  receipt: string;
  received_from: string | null;
  /** Milliseconds since the epoch. */
  now: number;
  retentionMs: number;
};

/** The answer of D1 to an event with a key. */
export type Decision =
  /** This request stored the event. */
  | { kind: 'accepted'; event: EventOfKey }
  /** An earlier request stored the same body. */
  | { kind: 'replay'; event: EventOfKey }
  /** Another body holds the key. */
  | { kind: 'conflict'; holder: EventOfKey }
  /** The key is free, and this body is not stored under it. */
  | { kind: 'free' };

/**
 * Stores each event, or finds the event that its key has stored, in the order given, atomically and in one round trip.
 * A stored event writes 4 rows, any other event none. No two events have the same key. No decision is `free`.
 */
export async function acceptKeyed(
  database: D1Database,
  events: readonly (Identity & IngestRequest)[],
  request: Receiving,
): Promise<Decision[]> {
  const { receipt, received_from, now, retentionMs } = request;
  const values = { receipt, received_from, now, heldSince: now - retentionMs };
  const [, found] = await writeD1(() =>
    database.batch<EventOfKey>([
      INSERT_UNLESS_HELD.bindTo(database, { ...values, events: JSON.stringify(events) }),
      EVENTS_OF_KEYS.bindTo(database, { keys: keysOf(events) }),
    ]),
  );
  return decide(events, found?.results ?? [], request);
}

/** Finds the events that each key has stored, and stores nothing: for bodies that do not fit their schema. */
export async function lookUpKeys(
  database: D1Database,
  identities: readonly Identity[],
  request: Receiving,
): Promise<Decision[]> {
  const keys = keysOf(identities);
  const found = await readD1(() => EVENTS_OF_KEYS.rows(database, { keys }));
  return decide(identities, found, request);
}

/**
 * Decides about each event from the events that its key has stored. `found` has the events of each key, newest first;
 * it needs only the newest one and the one with the same fingerprint. Pure.
 *
 * An event with the request's own receipt was stored by this very request, perhaps in an attempt whose answer was lost.
 * It is an acceptance, and no other request can mistake it for its own.
 */
function decide(
  identities: readonly Identity[],
  found: readonly EventOfKey[],
  request: Receiving,
): Decision[] {
  const byKey = Map.groupBy(found, (event) => event.key_id);
  return identities.map(({ keyId, fingerprint }) => {
    const ofKey = byKey.get(keyId) ?? [];
    const same = ofKey.find((event) => event.fingerprint === fingerprint);
    if (same?.receipt === request.receipt) return { kind: 'accepted', event: same };
    const [newest] = ofKey;
    if (newest !== undefined && newest !== same && holdsKey(newest.created_at, request)) {
      return { kind: 'conflict', holder: newest };
    }
    return same === undefined ? { kind: 'free' } : { kind: 'replay', event: same };
  });
}

/** Reports whether an event accepted at `acceptedAt` still holds its key when the request arrives. */
export function holdsKey(
  acceptedAt: number,
  { now, retentionMs }: Pick<Receiving, 'now' | 'retentionMs'>,
): boolean {
  return acceptedAt + retentionMs > now;
}

/** Stores an event without a key, under the given id. Writes 3 rows. */
export async function acceptKeyless(
  database: D1Database,
  event: ReceivedEvent,
  { id, now }: { id: string; now: number },
): Promise<void> {
  const values = { ...event, payload: JSON.stringify(event.payload), id, now };
  await writeD1(() => INSERT.bindTo(database, values).run());
}

/** Returns the body that an event was accepted from; undefined once its payload has been erased. */
export function bodyOf(event: EventOfKey): unknown {
  const { type, aggregate_id, aggregate_type, payload, erased_at } = event;
  if (erased_at !== null) return undefined;
  return { event_type: type, aggregate_id, aggregate_type, payload: JSON.parse(payload) };
}

const given = (name: string) => sql.placeholder(name);

const INSERT = statementOf(sql`
  insert into events (id, type, aggregate_type, aggregate_id, created_at, payload, received_from)
  values (${given('id')}, ${given('event_type')}, ${given('aggregate_type')}, ${given('aggregate_id')},
    ${given('now')}, ${given('payload')}, ${given('received_from')})
  on conflict do nothing
`);

/** Writes the keys for `EVENTS_OF_KEYS`, each with the fingerprint that is looked for, and no other field. */
function keysOf(identities: readonly Identity[]): string {
  return JSON.stringify(identities, ['keyId', 'fingerprint'] satisfies (keyof Identity)[]);
}

/**
 * Inserts each event unless another one holds its key or the key has ever stored this body. The first event of a key
 * takes the key's own UUID as its id. `events` is JSON text: a statement has 100 parameters at most.
 */
const INSERT_UNLESS_HELD = statementOf(sql`
  with event as materialized (
    select key as place, value->>'keyId' as key_id, value->>'laterId' as later_id,
      value->>'fingerprint' as fingerprint, value->>'event_type' as type,
      value->>'aggregate_type' as aggregate_type, value->>'aggregate_id' as aggregate_id,
      value->'payload' as payload
    from json_each(${given('events')})
  )
  insert into events
    (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, created_at, payload,
      received_from)
  select
    case when exists (select 1 from events as known where known.key_id = event.key_id)
      then later_id else key_id end,
    key_id, fingerprint, ${given('receipt')}, type, aggregate_type, aggregate_id, ${given('now')},
    payload, ${given('received_from')}
  from event
  where not exists (
    select 1 from events as known
    where known.key_id = event.key_id
      and (known.created_at > ${given('heldSince')} or known.fingerprint = event.fingerprint)
  )
  order by place
  on conflict do nothing
`);

/** An event that a key has stored. */
type EventOfKey = Pick<
  typeof events.$inferSelect,
  | 'key_id'
  | 'id'
  | 'type'
  | 'created_at'
  | 'fingerprint'
  | 'receipt'
  | 'aggregate_type'
  | 'aggregate_id'
  | 'payload'
  | 'erased_at'
>;

/**
 * Each key's newest event and the one with the key's fingerprint, newest first: at most two rows per key. The payload
 * is read only where the bodies are compared: for an event with another body.
 */
const EVENTS_OF_KEYS = statementOf(sql<EventOfKey>`
  select key_id, events.id, events.type, created_at, fingerprint, receipt, aggregate_type, aggregate_id,
    case when fingerprint = wanted.value->>'fingerprint' then '{}' else payload end as payload,
    case when fingerprint = wanted.value->>'fingerprint' then null else erased_at end as erased_at
  from json_each(${given('keys')}) as wanted cross join events
  where key_id = wanted.value->>'keyId'
    and (fingerprint = wanted.value->>'fingerprint'
      or seq = (select max(seq) from events as known where known.key_id = wanted.value->>'keyId'))
  order by seq desc
`);
