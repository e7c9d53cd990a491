/**
 * Storing events: D1 is the authority on which event a key holds.
 *
 * D1 runs one batch at a time, each a transaction: what a batch reads and writes cannot be split by
 * another's. It cannot tell whether a batch whose answer was lost has been committed, so every
 * statement here may run twice.
 */

import { and, desc, eq, or, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1, writeD1 } from '../storage/d1.ts';
import { statementOf } from '../storage/statement.ts';
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
  const held = valuesOfLookup(lookup);
  const values = {
    ...held,
    ...valuesOfEvent(event, lookup.now),
    receipt: lookup.receipt,
    laterId: laterEventIdOf(lookup.keyId, lookup.fingerprint),
    heldSince: lookup.now - lookup.retentionMs,
  };
  const [, read] = await writeD1(() =>
    database.batch<Row>([GUARDED_INSERT.bindTo(database, values), HELD.bindTo(database, held)]),
  );
  const rows = read?.results ?? [];
  const decision = decide(rows.map(keyedEventOf), lookup);
  if (decision.kind === 'free')
    throw new Error('the guarded insert neither stored nor found an event');
  return decision;
}

/** What the key holds, without storing anything: for a body that no event can be made of. */
export async function lookUpKey(database: D1Database, lookup: KeyedLookup): Promise<Decision> {
  const values = valuesOfLookup(lookup);
  const { results } = await readD1(() => HELD.bindTo(database, values).all<Row>());
  return decide(results.map(keyedEventOf), lookup);
}

/** Stores an event without a key under the id given. Writes 3 rows. */
export async function acceptKeyless(
  database: D1Database,
  event: IngestRequest,
  { id, now }: { id: string; now: number },
): Promise<void> {
  const values = { ...valuesOfEvent(event, now), id };
  await writeD1(() => INSERT.bindTo(database, values).run());
}

function valuesOfEvent(event: IngestRequest, now: number) {
  return {
    type: event.event_type,
    aggregateType: event.aggregate_type,
    aggregateId: event.aggregate_id,
    payload: JSON.stringify(event.payload),
    now,
  };
}

function valuesOfLookup({ keyId, fingerprint }: KeyedLookup) {
  return { keyId, fingerprint };
}

const given = (name: string) => sql.placeholder(name);

const EVENT_COLUMNS = sql.raw('type, aggregate_type, aggregate_id, payload, created_at');
const EVENT_VALUES = sql`${given('type')}, ${given('aggregateType')}, ${given('aggregateId')},
  ${given('payload')}, ${given('now')}`;

const INSERT = statementOf(
  sql`insert into ${events} (id, ${EVENT_COLUMNS}) values (${given('id')}, ${EVENT_VALUES})
    on conflict do nothing`,
);

const ofThisKey = sql`select 1 from ${events} where ${events.keyId} = ${given('keyId')}`;

/**
 * Inserts unless the key was accepted within the retention, or has ever stored this body. The first
 * event of a key has the key's own UUID as its id.
 */
const GUARDED_INSERT = statementOf(
  sql`insert into ${events} (id, key_id, fingerprint, receipt, ${EVENT_COLUMNS})
    select case when exists (${ofThisKey}) then ${given('laterId')} else ${given('keyId')} end,
      ${given('keyId')}, ${given('fingerprint')}, ${given('receipt')}, ${EVENT_VALUES}
    where not exists (${ofThisKey} and (
      ${events.createdAt} > ${given('heldSince')} or ${events.fingerprint} = ${given('fingerprint')}))
    on conflict do nothing`,
);

/** The key's newest event and the one with this fingerprint, newest first: two rows at most. */
const HELD = statementOf(
  new QueryBuilder()
    .select({
      id: events.id,
      type: events.type,
      createdAt: events.createdAt,
      fingerprint: events.fingerprint,
      receipt: events.receipt,
      aggregateType: events.aggregateType,
      aggregateId: events.aggregateId,
      /** Fetched only where it will be compared. */
      payload: sql`case when ${events.fingerprint} = ${given('fingerprint')} then null
        else ${events.payload} end`.as('differing_payload'),
    })
    .from(events)
    .where(
      and(
        eq(events.keyId, given('keyId')),
        or(
          eq(events.fingerprint, given('fingerprint')),
          sql`${events.seq} = (select max(seq) from ${events} where ${events.keyId} = ${given('keyId')})`,
        ),
      ),
    )
    .orderBy(desc(events.seq)),
);

type Row = {
  id: string;
  type: string;
  created_at: number;
  fingerprint: string | null;
  receipt: string | null;
  aggregate_type: string;
  aggregate_id: string;
  differing_payload: string | null;
};

function keyedEventOf(row: Row): KeyedEvent {
  const { id, type, created_at: createdAt, fingerprint, receipt } = row;
  if (fingerprint === null || receipt === null) throw new Error('a keyed event has a fingerprint');
  const event = { id, type, createdAt, fingerprint, receipt };
  if (row.differing_payload === null) return event;
  return {
    ...event,
    body: {
      event_type: type,
      aggregate_id: row.aggregate_id,
      aggregate_type: row.aggregate_type,
      payload: JSON.parse(row.differing_payload),
    },
  };
}
