/**
 * Stores events. D1 alone decides which event holds a key.
 *
 * D1 runs one batch at a time, each as a transaction, so no other request comes between the statements of a batch. When
 * the response of D1 is lost, it is unknown whether the batch was committed, so every statement here may run twice.
 */

import { sql } from 'drizzle-orm';
import { readD1, writeD1 } from '../storage/d1.ts';
import { given } from '../storage/page.ts';
import { statementOf } from '../storage/statement.ts';
import type { Identity, IngestRequest } from './request.ts';
import type { EventResource } from './resource.ts';
import type { events } from './table.ts';

/** The request that sends the events. */
export type IngestCall = {
  /** Random, unique to this request, and stored with each of its events. */
  receipt: string;
  /** The name of the API key; null for the key that opens everything. */
  receivedFrom: string | null;
  /** Whether the API key has the scope `events:read`. */
  mayReadEvents: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  retentionMs: number;
};

/** The decision of D1 about an event with a key. */
export type Decision =
  /** This request stored the event. */
  | { kind: 'accepted'; event: EventOfKey }
  /** An earlier request stored the same body. */
  | { kind: 'replay'; event: EventOfKey }
  /** Another body holds the key. */
  | { kind: 'conflict'; holder: EventOfKey }
  /** The key is free. Only `lookUpKeys` decides so. */
  | { kind: 'free' };

/**
 * Stores each event, or finds the event that its key has stored, in the order of `events`, in one transaction. A stored
 * event writes 4 rows. The keys must differ. `comparedBytes` of stored payloads were read for this request before.
 */
export async function acceptKeyed(
  database: D1Database,
  events: readonly (Identity & IngestRequest)[],
  call: IngestCall,
  comparedBytes = 0,
): Promise<Decision[]> {
  const { receipt, receivedFrom, now, retentionMs } = call;
  const values = { receipt, receivedFrom, now, heldSince: now - retentionMs };
  const [, found] = await writeD1(() =>
    database.batch<EventOfKey>([
      INSERT_UNLESS_HELD.bindTo(database, { ...values, events: JSON.stringify(events) }),
      EVENTS_OF_KEYS.bindTo(database, lookUpOf(events, call, comparedBytes)),
    ]),
  );
  return decide(events, found?.results ?? [], call);
}

/** Finds the events that each key has stored, and stores nothing: for invalid bodies. */
export async function lookUpKeys(
  database: D1Database,
  identities: readonly Identity[],
  call: IngestCall,
): Promise<Decision[]> {
  const values = lookUpOf(identities, call, 0);
  const found = await readD1(() => EVENTS_OF_KEYS.rows(database, values));
  return decide(identities, found, call);
}

/** Decides about each event. `found` has the events that the keys have stored, newest first. Pure. */
function decide(
  identities: readonly Identity[],
  found: readonly EventOfKey[],
  call: IngestCall,
): Decision[] {
  const byKey = Map.groupBy(found, (event) => event.key_id);
  return identities.map(({ keyId, fingerprint }) => {
    const ofKey = byKey.get(keyId) ?? [];
    const same = ofKey.find((event) => event.fingerprint === fingerprint);
    // Stored by this request, perhaps in an attempt whose response was lost.
    if (same?.receipt === call.receipt) return { kind: 'accepted', event: same };
    const [newest] = ofKey;
    if (newest !== undefined && newest !== same && holdsKey(newest.created_at, call)) {
      return { kind: 'conflict', holder: newest };
    }
    return same === undefined ? { kind: 'free' } : { kind: 'replay', event: same };
  });
}

/** Reports whether an event of that time still holds its key. */
export function holdsKey(acceptedAt: number, { now, retentionMs }: IngestCall): boolean {
  return acceptedAt + retentionMs > now;
}

/** Stores an event without a key. Writes 3 rows. */
export async function acceptKeyless(
  database: D1Database,
  id: string,
  event: IngestRequest,
  { now, receivedFrom }: IngestCall,
): Promise<void> {
  const values = { ...event, payload: JSON.stringify(event.payload), id, now, receivedFrom };
  await writeD1(() => INSERT.bindTo(database, values).run());
}

/** Returns the first response for an event. */
export function pendingEvent(
  row: Pick<typeof events.$inferSelect, 'id' | 'type' | 'created_at'>,
): EventResource {
  const created_at = new Date(row.created_at).toISOString();
  return { object: 'event', id: row.id, type: row.type, status: 'pending', created_at };
}

/** Returns the body of an event; undefined without its payload. */
export function bodyOf(event: EventOfKey): unknown {
  const { type, aggregate_id, aggregate_type, payload } = event;
  if (payload === null) return undefined;
  return { event_type: type, aggregate_id, aggregate_type, payload: JSON.parse(payload) };
}

/** Returns the size of the stored payloads that were read for the decisions. */
export function comparedBytesOf(decisions: readonly Decision[]): number {
  const holders = decisions.flatMap((each) => (each.kind === 'conflict' ? each.holder : []));
  const read = holders.filter(({ payload }) => payload !== null);
  return read.reduce((sum, { compared }) => sum + (compared ?? 0), 0);
}

const INSERT = statementOf(sql`
  insert into events (id, type, aggregate_type, aggregate_id, created_at, payload, received_from)
  values (${given('id')}, ${given('event_type')}, ${given('aggregate_type')}, ${given('aggregate_id')},
    ${given('now')}, ${given('payload')}, ${given('receivedFrom')})
  on conflict do nothing
`);

/** Returns the values of `EVENTS_OF_KEYS`. */
function lookUpOf(
  identities: readonly Identity[],
  { receivedFrom, mayReadEvents }: IngestCall,
  comparedBytes: number,
) {
  const fields = ['keyId', 'fingerprint'] satisfies (keyof Identity)[];
  return {
    keys: JSON.stringify(identities, fields),
    receivedFrom,
    mayRead: Number(mayReadEvents),
    maxBytes: MAX_COMPARED_BYTES - comparedBytes,
  };
}

/**
 * Inserts each event unless another one holds its key, or the key has ever stored this body. The first event of a key
 * has the key's UUID as its id. `events` is JSON text, because a statement has 100 parameters at most.
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
    payload, ${given('receivedFrom')}
  from event
  where not exists (
    select 1 from events as known
    where known.key_id = event.key_id
      and (known.created_at > ${given('heldSince')} or known.fingerprint = event.fingerprint)
  )
  order by place
  on conflict do nothing
`);

/** An event that a key has stored. The payload is null unless it is compared with another body. */
type EventOfKey = Omit<
  typeof events.$inferSelect,
  'seq' | 'received_from' | 'erased_at' | 'payload'
> & {
  payload: string | null;
  compared: number | null;
};

/** The most bytes of stored payloads that one request reads. */
const MAX_COMPARED_BYTES = 1024 * 1024;

/**
 * The newest event of each key, and its event with the fingerprint, newest first: at most two rows per key. `compared`
 * is the size of a payload that is compared: of an event with another body, unless it was erased or the caller may not
 * read it. Only these payloads are read, up to 1 MiB in all.
 */
const EVENTS_OF_KEYS = statementOf(sql<EventOfKey>`
  with found as (
    select seq, key_id, events.id, events.type, created_at, fingerprint, receipt, aggregate_type, aggregate_id,
      case when fingerprint <> wanted.value->>'fingerprint' and erased_at is null
        and (${given('mayRead')} or received_from is ${given('receivedFrom')})
        then octet_length(payload) end as compared
    from json_each(${given('keys')}) as wanted cross join events
    where key_id = wanted.value->>'keyId'
      and (fingerprint = wanted.value->>'fingerprint'
        or seq = (select max(seq) from events as known where known.key_id = wanted.value->>'keyId'))
  )
  select key_id, id, type, created_at, fingerprint, receipt, aggregate_type, aggregate_id, compared,
    case when compared and sum(compared) over (order by seq desc) <= ${given('maxBytes')}
      then (select payload from events where events.seq = found.seq) end as payload
  from found
  order by seq desc
`);
