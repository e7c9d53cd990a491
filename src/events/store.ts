/**
 * Stores events. D1 decides which event gets a key, because it runs one batch at a time, each as a
 * transaction. A response may be lost after the commit, so every statement must be safe to run twice.
 * The statements are written in SQL, because Drizzle's builder supports neither the rows of a JSON list
 * nor a conditional insert.
 */

import { sql } from 'drizzle-orm';
import { withDeadline } from '../deadline.ts';
import { logError } from '../http/log.ts';
import { readD1, writeD1 } from '../storage/d1.ts';
import { createStatement, placeholder } from '../storage/statement.ts';
import type { EventResource } from './openapi/event.ts';
import type { Identity, IngestRequest } from './request.ts';
import type { events } from './table.ts';

/** Facts about a request, which stay the same if a call to D1 is repeated. */
export type StoreContext = {
  /** Random id of the request, stored with its events in the column `receipt`. */
  requestToken: string;
  /** Name of the API key; null for an unnamed key. */
  receivedFrom: string | null;
  mayReadEvents: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  /** Milliseconds since the epoch. A key is in use if an event with this key was accepted after this time. */
  keysValidSince: number;
};

/** Maximum number of stored bodies that a request reads, because each may have 256 KiB. */
const MAX_COMPARED_BODIES = 4;
/** Maximum wait for stored bodies. A conflict can be reported without them. */
const BODIES_DEADLINE_MS = 1_000;

/** D1's decision about an event. */
export type Decision =
  /** This request stored the event. */
  | { kind: 'accepted'; event: KeyedEvent }
  /** An earlier request stored the same body. */
  | { kind: 'replayed'; event: KeyedEvent }
  /** The key is in use by an event with another body. */
  | { kind: 'conflict'; eventWithKey: KeyedEvent }
  /** The key is unused. Only `lookUpKeys` returns this. */
  | { kind: 'unused' };

/**
 * Stores each event, or finds the event that already has its key, in order and in one transaction. The
 * keys must be distinct. Each stored event writes 4 rows.
 */
export async function storeWithKeys(
  database: D1Database,
  requests: readonly (Identity & IngestRequest)[],
  context: StoreContext,
): Promise<Decision[]> {
  const { requestToken, receivedFrom, now, keysValidSince } = context;
  const values = {
    requests: JSON.stringify(requests),
    requestToken,
    receivedFrom,
    now,
    keysValidSince,
  };
  const [, storedEvents] = await writeD1(() =>
    database.batch<KeyedEvent>([
      INSERT_UNLESS_IN_USE.bindTo(database, values),
      EVENTS_WITH_KEYS.bindTo(database, { keys: JSON.stringify(requests, KEY_FIELDS) }),
    ]),
  );
  return decide(requests, storedEvents?.results ?? [], context);
}

/** Decides about requests with invalid bodies, whose keys may be in use. Stores nothing. */
export async function lookUpKeys(
  database: D1Database,
  identities: readonly Identity[],
  context: StoreContext,
): Promise<Decision[]> {
  const keys = JSON.stringify(identities, KEY_FIELDS);
  const storedEvents = await readD1(() => EVENTS_WITH_KEYS.rows(database, { keys }));
  return decide(identities, storedEvents, context);
}

/** Decides about each request. `storedEvents` contains the events of its key, newest first. */
function decide(
  identities: readonly Identity[],
  storedEvents: readonly KeyedEvent[],
  { requestToken, keysValidSince }: StoreContext,
): Decision[] {
  const decisions: Decision[] = [];
  for (const { keyId, fingerprint } of identities) {
    // If the newest event of the key has another body, an earlier one may have this body.
    const [newest, earlier] = storedEvents.filter(({ key_id }) => key_id === keyId);
    const sameBody = newest?.fingerprint === fingerprint ? newest : earlier;
    const eventWithKey = newest && newest.created_at > keysValidSince ? newest : undefined;
    // The token also matches if this request was committed earlier and the response was lost.
    if (sameBody?.receipt === requestToken) decisions.push({ kind: 'accepted', event: sameBody });
    else if (eventWithKey && eventWithKey !== sameBody) {
      decisions.push({ kind: 'conflict', eventWithKey });
    } else if (sameBody) decisions.push({ kind: 'replayed', event: sameBody });
    else decisions.push({ kind: 'unused' });
  }
  return decisions;
}

/** Stores an event without a key. Writes 3 rows. */
export async function storeWithoutKey(
  database: D1Database,
  id: string,
  event: IngestRequest,
  { now, receivedFrom }: StoreContext,
): Promise<void> {
  const values = { ...event, payload: JSON.stringify(event.payload), id, now, receivedFrom };
  await writeD1(() => INSERT.bindTo(database, values).run());
}

/** Makes the resource of a stored event. For a replay, `status` is `idempotent`. */
export function makeEventResource(
  { id, type, created_at }: Pick<typeof events.$inferSelect, 'id' | 'type' | 'created_at'>,
  status: EventResource['status'] = 'pending',
): EventResource {
  return { object: 'event', id, type, status, created_at: new Date(created_at).toISOString() };
}

/** Stored bodies, as they were sent, by event id. */
export type StoredBodies = ReadonlyMap<string, unknown>;

/**
 * Reads the stored bodies of the first four conflicts, so that the differences can be reported. Leaves
 * out bodies that are erased or that the caller may not read. Does not call D1 if there is no conflict.
 * If D1 fails or is late, logs the error and returns an empty map.
 */
export async function findStoredBodies(
  database: D1Database,
  decisions: readonly Decision[],
  { receivedFrom, mayReadEvents }: StoreContext,
): Promise<StoredBodies> {
  const conflicts = decisions.flatMap((decision) =>
    decision.kind === 'conflict' ? [decision.eventWithKey.id] : [],
  );
  if (conflicts.length === 0) return new Map();
  const ids = JSON.stringify(conflicts.slice(0, MAX_COMPARED_BODIES));
  const values = { ids, receivedFrom, mayRead: Number(mayReadEvents) };
  try {
    const reading = readD1(() => BODIES.rows(database, values));
    const rows = await withDeadline(reading, BODIES_DEADLINE_MS, 'D1 read of stored bodies');
    return new Map(
      rows.map(({ id, ...body }) => [id, { ...body, payload: JSON.parse(body.payload) }]),
    );
  } catch (error) {
    logError('the bodies of conflicts could not be read', error);
    return new Map();
  }
}

/** Selects a row per id, except for bodies that are erased or that the caller may not read. */
const BODIES = createStatement(sql<IngestRow>`
  select events.id, events.type as event_type, aggregate_id, aggregate_type, payload
  from json_each(${placeholder('ids')}) as wanted cross join events
  where events.id = wanted.value and erased_at is null
    and (${placeholder('mayRead')} or received_from is ${placeholder('receivedFrom')})
`);

type IngestRow = Omit<IngestRequest, 'payload'> & { id: string; payload: string };

const INSERT = createStatement(sql`
  insert into events (id, type, aggregate_type, aggregate_id, created_at, payload, received_from)
  values (${placeholder('id')}, ${placeholder('event_type')}, ${placeholder('aggregate_type')},
    ${placeholder('aggregate_id')}, ${placeholder('now')}, ${placeholder('payload')}, ${placeholder('receivedFrom')})
  on conflict do nothing
`);

/** Fields of an `Identity` that a lookup needs. */
const KEY_FIELDS = ['keyId', 'fingerprint'];

/**
 * Inserts each event unless its key is in use, or an event with the same key and body exists. The first
 * event of a key gets the id `key_id`, and every later event gets its `reused_key_event_id`. `requests`
 * is one JSON text, because a statement can have at most 100 parameters:
 *
 *     [{"keyId":"6bf0…","fingerprint":"9c1e…","reusedKeyEventId":"1d7a…","event_type":"booking.…
 */
const INSERT_UNLESS_IN_USE = createStatement(sql`
  with sent as materialized (
    select item.key as item_index, value->>'keyId' as key_id, value->>'reusedKeyEventId' as reused_key_event_id,
      value->>'fingerprint' as fingerprint, value->>'event_type' as type,
      value->>'aggregate_type' as aggregate_type, value->>'aggregate_id' as aggregate_id,
      value->'payload' as payload
    from json_each(${placeholder('requests')}) as item
  )
  insert into events
    (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, created_at, payload,
      received_from)
  select
    case when exists (select 1 from events as known where known.key_id = sent.key_id)
      then reused_key_event_id else key_id end,
    key_id, fingerprint, ${placeholder('requestToken')}, type, aggregate_type, aggregate_id, ${placeholder('now')},
    payload, ${placeholder('receivedFrom')}
  from sent
  where not exists (
    select 1 from events as known
    where known.key_id = sent.key_id
      and (known.created_at > ${placeholder('keysValidSince')} or known.fingerprint = sent.fingerprint)
  )
  order by item_index
`);

type KeyedEvent = Pick<
  typeof events.$inferSelect,
  'id' | 'key_id' | 'type' | 'created_at' | 'fingerprint' | 'receipt'
>;

/**
 * Selects the newest event of each key, and the key's event with the requested fingerprint, newest
 * first:
 *
 *     key_id  fingerprint
 *     6bf0…   9c1e…        newest event of the key, with another body
 *     6bf0…   04d2…        event with the requested body
 *     e07d…   51fa…        newest event of another key
 */
const EVENTS_WITH_KEYS = createStatement(sql<KeyedEvent>`
  select key_id, events.id, events.type, created_at, fingerprint, receipt
  from json_each(${placeholder('keys')}) as wanted cross join events
  where key_id = wanted.value->>'keyId'
    and (fingerprint = wanted.value->>'fingerprint'
      or seq = (select max(seq) from events as known where known.key_id = wanted.value->>'keyId'))
  order by seq desc
`);
