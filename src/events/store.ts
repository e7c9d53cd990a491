/**
 * Stores and reads events. D1 decides which event holds a key: it runs one batch at a time, each as
 * a transaction. Its response may be lost after the commit, so every statement may run twice. Reads
 * go to the primary, so that a caller finds the event of its 202.
 */

import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { type ApiError, resourceMissing, validationError } from '../http/errors.ts';
import { jsonWithField } from '../http/paging.ts';
import { readD1, writeD1 } from '../storage/d1.ts';
import {
  insertInto,
  keysetPage,
  memoizeStatement,
  nullIfOversized,
  placeholder,
  queryBuilder,
  readPage,
  statementOf,
} from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import type { EventResource } from './event.ts';
import { type EventFilters, FILTER_ENTRIES } from './parameters.ts';
import type { Identity, IngestRequest } from './request.ts';
import { events } from './table.ts';

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

/** Of the stored payloads that a request compares with sent bodies. */
const MAX_COMPARED_BYTES = 1024 * 1024;

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
 * in order. The keys must differ. A stored event writes 4 rows. The lookup of a batch's invalid
 * items has already read `comparedBytes` of `MAX_COMPARED_BYTES`.
 */
export async function acceptKeyed(
  database: D1Database,
  requests: readonly (Identity & IngestRequest)[],
  context: StoreContext,
  comparedBytes = 0,
): Promise<Decision[]> {
  const { receipt, receivedFrom, now, heldSince } = context;
  const sent = { requests: JSON.stringify(requests), receipt, receivedFrom, now, heldSince };
  const [, found] = await writeD1(() =>
    database.batch<EventOfKey>([
      INSERT_UNLESS_HELD.bindTo(database, sent),
      EVENTS_OF_KEYS.bindTo(database, lookUpValues(requests, context, comparedBytes)),
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
  const values = lookUpValues(identities, context, 0);
  const found = await readD1(() => EVENTS_OF_KEYS.rows(database, values));
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

/** Returns the sent body; undefined without its payload. */
export function rebuildBody(event: EventOfKey): unknown {
  const { type, aggregate_id, aggregate_type, payload } = event;
  if (payload === null) return undefined;
  return { event_type: type, aggregate_id, aggregate_type, payload: JSON.parse(payload) };
}

const INSERT = statementOf(
  insertInto(events)
    .values({
      id: sql.placeholder('id'),
      type: sql.placeholder('event_type'),
      aggregate_type: sql.placeholder('aggregate_type'),
      aggregate_id: sql.placeholder('aggregate_id'),
      created_at: sql.placeholder('now'),
      payload: sql.placeholder('payload'),
      received_from: sql.placeholder('receivedFrom'),
    })
    .onConflictDoNothing(),
);

function lookUpValues(
  identities: readonly Identity[],
  { receivedFrom, mayReadEvents }: StoreContext,
  comparedBytes: number,
) {
  return {
    keys: JSON.stringify(identities.map(({ keyId, fingerprint }) => ({ keyId, fingerprint }))),
    receivedFrom,
    mayRead: Number(mayReadEvents),
    maxBytes: MAX_COMPARED_BYTES - comparedBytes,
  };
}

/**
 * Inserts each event unless another one holds its key, or the key has ever stored this body. The
 * first event of a key has the id `key_id`, and each later one its own `reused_key_event_id`.
 * `requests` is JSON text, because a statement has at most 100 parameters:
 *
 *     [{"keyId":"6bf0…","fingerprint":"9c1e…","reusedKeyEventId":"1d7a…","event_type":"booking.…
 */
const INSERT_UNLESS_HELD = statementOf(sql`
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

/** The payload is null unless it is compared with another body. */
type EventOfKey = Omit<
  typeof events.$inferSelect,
  'seq' | 'received_from' | 'erased_at' | 'payload'
> & {
  payload: string | null;
  /** Null if there is nothing to compare. */
  compared_bytes: number | null;
};

/**
 * The newest event of each key, and its event with the fingerprint, newest first. A payload is read
 * to compare it with another body, unless it was erased or the caller may not read it, and while the
 * sum of `compared_bytes` is at most `maxBytes`:
 *
 *     key_id  fingerprint  compared_bytes  payload
 *     6bf0…   9c1e…        12              {"guests":2}   another body, which holds the key
 *     6bf0…   04d2…        null            null           the body that is sent
 *     e07d…   51fa…        1048570         null           another body: the sum is above 1 MiB
 */
const EVENTS_OF_KEYS = statementOf(sql<EventOfKey>`
  with found as (
    select seq, key_id, events.id, events.type, created_at, fingerprint, receipt, aggregate_type, aggregate_id,
      case when fingerprint <> wanted.value->>'fingerprint' and erased_at is null
        and (${placeholder('mayRead')} or received_from is ${placeholder('receivedFrom')})
        then octet_length(payload) end as compared_bytes
    from json_each(${placeholder('keys')}) as wanted cross join events
    where key_id = wanted.value->>'keyId'
      and (fingerprint = wanted.value->>'fingerprint'
        or seq = (select max(seq) from events as known where known.key_id = wanted.value->>'keyId'))
  )
  select key_id, id, type, created_at, fingerprint, receipt, aggregate_type, aggregate_id, compared_bytes,
    case when compared_bytes is not null and sum(compared_bytes) over (order by seq desc) <= ${placeholder('maxBytes')}
      then (select payload from events where events.seq = found.seq) end as payload
  from found
  order by seq desc
`);

/** The page begins after the position `after_seq`, else after the event `after_id`. */
type EventPageRequest = EventFilters & {
  order: keyof typeof BEGINNING;
  limit: number;
  after_seq: number | undefined;
  after_id?: string;
};

/** Before every position of the order. */
const BEGINNING = { asc: 0, desc: Number.MAX_SAFE_INTEGER };

export type EventPage = {
  documents: string[];
  hasMore: boolean;
  /** Of `resume_cursor`. It may lie beyond the page: no event between the two passes the filters. */
  resumeSeq: number;
  generation: string;
};

/** Reads a page in one round trip. Throws a `validation_error` for an unknown `after_id`. */
export async function findEvents(
  database: D1Database,
  { order, limit, after_seq, after_id, ...filters }: EventPageRequest,
): Promise<EventPage> {
  const statement = pageStatement({ order, filters });
  // Null: the statement finds the position of `after_id`.
  const after0 = after_seq ?? (after_id === undefined ? BEGINNING[order] : null);
  const { state, documents, last, hasMore } = await readPage({
    connection: database,
    state: STATE,
    page: statement,
    values: { ...filters, after0, after_id: after_id ?? '' },
    limit,
    format: formatEvent,
  });
  const { generation, anchor, newest } = state;
  if (after_id !== undefined && anchor === null) throw unknownAfterId();

  const start = after_seq ?? anchor ?? BEGINNING[order];
  const end = last?.seq ?? start;
  // `newest` is read in the page's transaction: no event from `end` to `newest` passes the filters.
  const resumeSeq = order === 'asc' && !hasMore ? Math.max(newest, start) : end;
  return { documents, hasMore, resumeSeq, generation };
}

/** Reads an event as JSON text. `id` is in lower case. */
export async function findEvent(database: D1Database, id: string): Promise<string | undefined> {
  const [row] = await readD1(() => EVENT.rows(database, { id }));
  return row && formatEvent(row);
}

/** 404 `resource_missing`. */
export function noSuchEvent(): ApiError {
  return resourceMissing('There is no such event.');
}

/** 400 `validation_error`: no event has the id `after_id`. */
export function unknownAfterId(): ApiError {
  const path = 'after_id';
  return validationError([{ path, field: path, message: 'must be the id of an existing event' }]);
}

/** `payload` is null if it was left out. */
type EventPageRow = Omit<
  typeof events.$inferSelect,
  'key_id' | 'fingerprint' | 'receipt' | 'payload'
> & { payload: string | null };

const { seq, payload, key_id, fingerprint, receipt, ...shownColumns } = getTableColumns(events);
const columns = sql.join(Object.values(shownColumns), sql`, `);

/** The generation of the database, and the positions of `after_id` and of the newest event. */
const STATE = statementOf(
  queryBuilder
    .select({
      generation: databaseIdentity.generation,
      anchor: sql<number | null>`(select ${seq} from ${events}
        where ${events.id} = ${placeholder('after_id')})`.as('anchor'),
      newest: sql<number>`(select coalesce(max(${seq}), 0) from ${events})`.as('newest'),
    })
    .from(databaseIdentity),
);

const EVENT = statementOf(
  queryBuilder
    .select({ seq, ...shownColumns, payload })
    .from(events)
    .where(eq(events.id, sql.placeholder('id'))),
);

type Shape = Pick<EventPageRequest, 'order'> & { filters: EventFilters };

const pageStatement = memoizeStatement(pageQuery, ({ order, filters }) =>
  [order, ...Object.keys(filters)].join(),
);

function pageQuery({ order, filters }: Shape): SQL<EventPageRow> {
  const sent = FILTER_ENTRIES.filter(([name]) => name in filters);
  const joined = sent.flatMap(([, { joinedBefore }]) => joinedBefore ?? []);
  const conditions = sent.map(([name, { condition }]) => condition(placeholder(name)));
  return keysetPage<EventPageRow>({
    columns: sql`${columns}, ${nullIfOversized(payload)} as payload`,
    from: sql`${sql.join(joined)}${events}`,
    ranges: [and(...conditions) ?? sql`true`],
    order: [seq],
    direction: order,
    after: sql`coalesce(${placeholder('after0')},
      (select ${seq} from ${events} where ${events.id} = ${placeholder('after_id')}))`,
  });
}

function formatEvent({ payload, ...row }: EventPageRow): string | undefined {
  if (payload === null) return undefined;
  const { aggregate_id, aggregate_type, received_from } = row;
  const erased_at = row.erased_at === null ? null : new Date(row.erased_at).toISOString();
  const stored = { aggregate_id, aggregate_type, received_from, erased_at };
  return jsonWithField({ ...makeEventResource(row), ...stored }, 'payload', payload);
}
