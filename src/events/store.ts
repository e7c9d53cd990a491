/**
 * Stores events. D1 is the authority on which event holds a key.
 *
 * D1 runs one batch at a time, each as a transaction, so no other request comes between what a batch
 * reads and what it writes. D1 cannot tell whether it committed a batch whose answer was lost, so
 * every statement here may run twice.
 */

import { and, desc, eq, max, or, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1, writeD1 } from '../storage/d1.ts';
import { type RowOf, statementOf } from '../storage/statement.ts';
import type { Identity, IngestRequest } from './request.ts';
import { events } from './table.ts';

/** An event, and the name of the key that posted it; null for the key that opens everything. */
export type ReceivedEvent = IngestRequest & { received_from: string | null };

/** A request with a key. */
export type KeyedRequest = Identity & {
  /** Random, unique to this request, and stored with the event that it stores. */
  receipt: string;
  /** Milliseconds since the epoch. */
  now: number;
  retentionMs: number;
};

/** The answer of D1 to a request with a key. */
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
 * Stores the event, or finds what its key has stored, atomically and in one round trip. A request
 * that stores its event writes 4 rows, any other request none. The decision is never `free`.
 */
export async function acceptKeyed(
  database: D1Database,
  event: ReceivedEvent,
  request: KeyedRequest,
): Promise<Decision> {
  const heldSince = request.now - request.retentionMs;
  const values = { ...event, payload: JSON.stringify(event.payload), ...request, heldSince };
  const [, found] = await writeD1(() =>
    database.batch<EventOfKey>([
      INSERT_UNLESS_HELD.bindTo(database, values),
      EVENTS_OF_KEY.bindTo(database, values),
    ]),
  );
  return decide(found?.results ?? [], request);
}

/** Finds what the key has stored and stores nothing: for a body that does not fit its schema. */
export async function lookUpKey(database: D1Database, request: KeyedRequest): Promise<Decision> {
  return decide(await readD1(() => EVENTS_OF_KEY.rows(database, request)), request);
}

/**
 * Decides from the events of the key, newest first. Needs only the newest one and the one with the
 * request's fingerprint. Pure.
 *
 * An event with the request's own receipt was stored by this very request, perhaps in an attempt
 * whose answer was lost. It is an acceptance, and no other request can mistake it for its own.
 */
function decide(events: readonly EventOfKey[], request: KeyedRequest): Decision {
  const same = events.find(({ fingerprint }) => fingerprint === request.fingerprint);
  if (same?.receipt === request.receipt) return { kind: 'accepted', event: same };
  const [newest] = events;
  if (newest !== undefined && newest !== same && holdsKey(newest.created_at, request)) {
    return { kind: 'conflict', holder: newest };
  }
  return same === undefined ? { kind: 'free' } : { kind: 'replay', event: same };
}

/** Reports whether an event accepted at `acceptedAt` still holds its key when the request arrives. */
export function holdsKey(acceptedAt: number, { now, retentionMs }: KeyedRequest): boolean {
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

/**
 * Inserts unless an event holds the key or the key has ever stored this body. The first event of a
 * key takes the key's own UUID as its id.
 */
const INSERT_UNLESS_HELD = statementOf(sql`
  insert into events
    (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, created_at, payload,
      received_from)
  select
    case when exists (select 1 from events where key_id = ${given('keyId')})
      then ${given('laterId')} else ${given('keyId')} end,
    ${given('keyId')}, ${given('fingerprint')}, ${given('receipt')}, ${given('event_type')},
    ${given('aggregate_type')}, ${given('aggregate_id')}, ${given('now')}, ${given('payload')},
    ${given('received_from')}
  where not exists (
    select 1 from events
    where key_id = ${given('keyId')}
      and (created_at > ${given('heldSince')} or fingerprint = ${given('fingerprint')})
  )
  on conflict do nothing
`);

const isOfKey = eq(events.key_id, given('keyId'));
const isSameBody = eq(events.fingerprint, given('fingerprint'));
/** The payload is read only where `conflictDetails` needs it: for an event with another body. */
const comparedPayload = sql<string>`case when ${isSameBody} then '{}' else ${events.payload} end`;
const comparedErasure = sql<
  number | null
>`case when ${isSameBody} then null else ${events.erased_at} end`;
const newestSeq = new QueryBuilder()
  .select({ seq: max(events.seq) })
  .from(events)
  .where(isOfKey);

/** The key's newest event and the one with this fingerprint, newest first: at most two rows. */
const EVENTS_OF_KEY = statementOf(
  new QueryBuilder()
    .select({
      id: events.id,
      type: events.type,
      created_at: events.created_at,
      fingerprint: events.fingerprint,
      receipt: events.receipt,
      aggregate_type: events.aggregate_type,
      aggregate_id: events.aggregate_id,
      payload: comparedPayload.as('payload'),
      erased_at: comparedErasure.as('erased_at'),
    })
    .from(events)
    .where(and(isOfKey, or(isSameBody, eq(events.seq, newestSeq))))
    .orderBy(desc(events.seq)),
);

type EventOfKey = RowOf<typeof EVENTS_OF_KEY>;
