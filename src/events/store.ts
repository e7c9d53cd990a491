/**
 * Stores events. D1 decides which event holds a key: it runs one batch at a time, each as a
 * transaction. Its response may be lost after the commit, so every statement may run twice. The
 * statements are whole SQL: Drizzle's builder has no rows of a JSON list, and no guarded insert.
 */

import { sql } from 'drizzle-orm';
import { withDeadline } from '../deadline.ts';
import { logError } from '../http/log.ts';
import { readD1, writeD1 } from '../storage/d1.ts';
import { createStatement, placeholder } from '../storage/statement.ts';
import type { EventResource } from './openapi/event.ts';
import type { Identity, IngestRequest } from './request.ts';
import type { events } from './table.ts';

/** The same for each attempt at D1. */
export type StoreContext = {
  /** A random id of the request, stored with its events. */
  receipt: string;
  /** The name of the API key; null for an unnamed key. */
  receivedFrom: string | null;
  mayReadEvents: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  /** An event accepted after this time still holds its key. */
  heldSince: number;
};

/** Of a batch: each stored body may have 256 KiB. */
const MAX_COMPARED_BODIES = 4;
/** A conflict is certain without the stored body, so it waits no longer. */
const BODIES_DEADLINE_MS = 1_000;

export type Decision =
  /** This request stored the event. */
  | { kind: 'accepted'; event: EventOfKey }
  /** An earlier request stored the same body. */
  | { kind: 'replayed'; event: EventOfKey }
  /** Another body holds the key. */
  | { kind: 'conflict'; holder: EventOfKey }
  /** The key is free. Only `lookUpKeys` decides so. */
  | { kind: 'free' };

/**
 * Ingest, 6: stores each event, or finds the event that its key has stored, in one transaction and
 * in order. The keys must differ. A stored event writes 4 rows.
 */
export async function acceptKeyed(
  database: D1Database,
  requests: readonly (Identity & IngestRequest)[],
  context: StoreContext,
): Promise<Decision[]> {
  const { receipt, receivedFrom, now, heldSince } = context;
  const sent = { requests: JSON.stringify(requests), receipt, receivedFrom, now, heldSince };
  const [, found] = await writeD1(() =>
    database.batch<EventOfKey>([
      INSERT_UNLESS_HELD.bindTo(database, sent),
      EVENTS_OF_KEYS.bindTo(database, { keys: JSON.stringify(requests, KEY_FIELDS) }),
    ]),
  );
  return decide(requests, found?.results ?? [], context);
}

/** Decides about invalid bodies, and stores nothing. */
export async function lookUpKeys(
  database: D1Database,
  identities: readonly Identity[],
  context: StoreContext,
): Promise<Decision[]> {
  const keys = JSON.stringify(identities, KEY_FIELDS);
  const found = await readD1(() => EVENTS_OF_KEYS.rows(database, { keys }));
  return decide(identities, found, context);
}

/** Ingest, 7: decides about each event. `found` is newest first. Pure. */
function decide(
  identities: readonly Identity[],
  found: readonly EventOfKey[],
  { receipt, heldSince }: StoreContext,
): Decision[] {
  const decisions: Decision[] = [];
  for (const { keyId, fingerprint } of identities) {
    // The newest event of the key, and perhaps an earlier one with this body.
    const [newest, earlier] = found.filter(({ key_id }) => key_id === keyId);
    const same = newest?.fingerprint === fingerprint ? newest : earlier;
    const holder = newest && newest.created_at > heldSince ? newest : undefined;
    // Stored by this request, perhaps in an attempt whose response was lost.
    if (same?.receipt === receipt) decisions.push({ kind: 'accepted', event: same });
    else if (holder && holder !== same) decisions.push({ kind: 'conflict', holder });
    else if (same) decisions.push({ kind: 'replayed', event: same });
    else decisions.push({ kind: 'free' });
  }
  return decisions;
}

/** Stores an event without a key. Writes 3 rows. */
export async function acceptKeyless(
  database: D1Database,
  id: string,
  event: IngestRequest,
  { now, receivedFrom }: StoreContext,
): Promise<void> {
  const values = { ...event, payload: JSON.stringify(event.payload), id, now, receivedFrom };
  await writeD1(() => INSERT.bindTo(database, values).run());
}

/** `idempotent` is the status of a replay. */
export function makeEventResource(
  { id, type, created_at }: Pick<typeof events.$inferSelect, 'id' | 'type' | 'created_at'>,
  status: EventResource['status'] = 'pending',
): EventResource {
  return { object: 'event', id, type, status, created_at: new Date(created_at).toISOString() };
}

/** Event id → the body that was sent. */
export type StoredBodies = ReadonlyMap<string, unknown>;

/**
 * Reads the bodies that hold the keys of conflicts, to name the differences: of the first four
 * conflicts, unless a body is erased or the caller may not read it. Calls D1 only for a conflict. A
 * failure or a late response is logged, and the map is empty.
 */
export async function findHoldingBodies(
  database: D1Database,
  decisions: readonly Decision[],
  { receivedFrom, mayReadEvents }: StoreContext,
): Promise<StoredBodies> {
  const holders = decisions.flatMap((each) => (each.kind === 'conflict' ? [each.holder.id] : []));
  if (holders.length === 0) return new Map();
  const ids = JSON.stringify(holders.slice(0, MAX_COMPARED_BODIES));
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

/** One row per id, but for bodies that are erased or that the caller may not read. */
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

/** What a look-up needs of an identity. */
const KEY_FIELDS = ['keyId', 'fingerprint'];

/**
 * Inserts each event unless another one holds its key, or the key has ever stored this body. The
 * first event of a key has the id `key_id`, and each later one its own `reused_key_event_id`.
 * `requests` is JSON text, because a statement has at most 100 parameters:
 *
 *     [{"keyId":"6bf0…","fingerprint":"9c1e…","reusedKeyEventId":"1d7a…","event_type":"booking.…
 */
const INSERT_UNLESS_HELD = createStatement(sql`
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
    key_id, fingerprint, ${placeholder('receipt')}, type, aggregate_type, aggregate_id, ${placeholder('now')},
    payload, ${placeholder('receivedFrom')}
  from sent
  where not exists (
    select 1 from events as known
    where known.key_id = sent.key_id
      and (known.created_at > ${placeholder('heldSince')} or known.fingerprint = sent.fingerprint)
  )
  order by item_index
`);

type EventOfKey = Pick<
  typeof events.$inferSelect,
  'id' | 'key_id' | 'type' | 'created_at' | 'fingerprint' | 'receipt'
>;

/**
 * The newest event of each key, and its event with the fingerprint, newest first:
 *
 *     key_id  fingerprint
 *     6bf0…   9c1e…        another body, which may hold the key
 *     6bf0…   04d2…        the body that is sent
 *     e07d…   51fa…        another body
 */
const EVENTS_OF_KEYS = createStatement(sql<EventOfKey>`
  select key_id, events.id, events.type, created_at, fingerprint, receipt
  from json_each(${placeholder('keys')}) as wanted cross join events
  where key_id = wanted.value->>'keyId'
    and (fingerprint = wanted.value->>'fingerprint'
      or seq = (select max(seq) from events as known where known.key_id = wanted.value->>'keyId'))
  order by seq desc
`);
