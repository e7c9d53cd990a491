/**
 * Storing events: D1 is the authority on which event a key holds.
 *
 * D1 runs one batch at a time, each a transaction: what a batch reads and writes cannot be split by
 * another's. It cannot tell whether a batch whose answer was lost has been committed, so every
 * statement here may run twice.
 */

import { and, desc, eq, or, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readD1, writeD1 } from '../storage/d1.ts';
import { type Decision, decide, type KeyedEvent, type KeyedRequest } from './decision.ts';
import { laterEventIdOf } from './event-id.ts';
import type { IngestRequest } from './request.ts';
import { events } from './table.ts';

/** A request with the UUID of its key. */
export type KeyedLookup = KeyedRequest & { keyId: string };

/**
 * Accepts the event, or finds what its key holds, atomically and in one round trip. A first request
 * writes 4 rows, any other none.
 */
export async function acceptKeyed(
  database: D1Database,
  event: IngestRequest,
  lookup: KeyedLookup,
): Promise<Exclude<Decision, { kind: 'free' }>> {
  const db = drizzle(database);
  const [, rows] = await writeD1(() =>
    db.batch([guardedInsert(database, event, lookup), heldBy(database, lookup)]),
  );
  const decision = decide(rows.map(keyedEventOf), lookup);
  if (decision.kind === 'free')
    throw new Error('the guarded insert neither stored nor found an event');
  return decision;
}

/** What the key holds, without storing anything: for a body that no event can be made of. */
export async function lookUpKey(database: D1Database, lookup: KeyedLookup): Promise<Decision> {
  const rows = await readD1(() => heldBy(database, lookup));
  return decide(rows.map(keyedEventOf), lookup);
}

/** Stores an event without a key under the id given. Writes 3 rows. */
export async function acceptKeyless(
  database: D1Database,
  event: IngestRequest,
  { id, now }: { id: string; now: number },
): Promise<void> {
  await writeD1(() =>
    drizzle(database)
      .insert(events)
      .values({
        id,
        type: event.event_type,
        aggregateType: event.aggregate_type,
        aggregateId: event.aggregate_id,
        payload: JSON.stringify(event.payload),
        createdAt: now,
      })
      .onConflictDoNothing(),
  );
}

/**
 * Inserts unless the key was accepted within the retention, or has ever stored this body. The first
 * event of a key has the key's own UUID as its id.
 */
function guardedInsert(database: D1Database, event: IngestRequest, lookup: KeyedLookup) {
  const { keyId, fingerprint, receipt, now, retentionMs } = lookup;
  const ofThisKey = sql`select 1 from ${events} where ${events.keyId} = ${keyId}`;
  return drizzle(database)
    .insert(events)
    .select(
      sql`select null,
        case when exists (${ofThisKey}) then ${laterEventIdOf(keyId, fingerprint)} else ${keyId} end,
        ${keyId}, ${fingerprint}, ${receipt}, ${event.event_type}, ${event.aggregate_type},
        ${event.aggregate_id}, ${JSON.stringify(event.payload)}, ${now}
      where not exists (${ofThisKey} and (
        ${events.createdAt} > ${now - retentionMs} or ${events.fingerprint} = ${fingerprint}))`,
    )
    .onConflictDoNothing();
}

/** The key's newest event and the one with this fingerprint, newest first: two rows at most. */
function heldBy(database: D1Database, { keyId, fingerprint }: KeyedLookup) {
  const unlessSame = sql`case when ${events.fingerprint} = ${fingerprint} then null else`;
  return drizzle(database)
    .select({
      id: events.id,
      type: events.type,
      createdAt: events.createdAt,
      fingerprint: events.fingerprint,
      receipt: events.receipt,
      aggregateType: events.aggregateType,
      aggregateId: events.aggregateId,
      /** Fetched only where it will be compared. */
      payload: sql<string | null>`${unlessSame} ${events.payload} end`.as('differing_payload'),
    })
    .from(events)
    .where(
      and(
        eq(events.keyId, keyId),
        or(
          eq(events.fingerprint, fingerprint),
          sql`${events.seq} = (select max(seq) from ${events} where ${events.keyId} = ${keyId})`,
        ),
      ),
    )
    .orderBy(desc(events.seq));
}

type Row = Awaited<ReturnType<typeof heldBy>>[number];

function keyedEventOf(row: Row): KeyedEvent {
  const { id, type, createdAt, fingerprint, receipt } = row;
  if (fingerprint === null || receipt === null) throw new Error('a keyed event has a fingerprint');
  const event = { id, type, createdAt, fingerprint, receipt };
  if (row.payload === null) return event;
  return {
    ...event,
    body: {
      event_type: type,
      aggregate_id: row.aggregateId,
      aggregate_type: row.aggregateType,
      payload: JSON.parse(row.payload),
    },
  };
}
