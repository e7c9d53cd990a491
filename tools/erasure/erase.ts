/**
 * Erases the payloads of an aggregate's events. Ids, the UUIDs of keys, order and fingerprints stay: a late retry still
 * gets its event's id, and stores nothing.
 */

import * as z from 'zod';

export type Aggregate = { type: string; id: string };

const aggregateEvents = z.object({
  /** All events of the aggregate, erased ones too. */
  total: z.int(),
  /** The events that still have their payload. */
  unerased: z.int(),
  /** The last event in the order of the stream. */
  lastId: z.string().nullable(),
  /** When the last event was accepted, in milliseconds since 1970; 0 without events. */
  lastAt: z.int(),
});

const OF_AGGREGATE = 'aggregate_type = ?1 AND aggregate_id = ?2';
/** Spares events that came after the erasure `?3`. */
const UNERASED = `${OF_AGGREGATE} AND erased_at IS NULL AND created_at <= ?3`;

export async function findAggregate(database: D1Database, { type, id }: Aggregate) {
  const statement = database
    .prepare(
      `SELECT count(*) AS total, count(*) - count(erased_at) AS unerased,
         coalesce(max(created_at), 0) AS lastAt,
         (SELECT id FROM events WHERE ${OF_AGGREGATE} ORDER BY seq DESC LIMIT 1) AS lastId
       FROM events WHERE ${OF_AGGREGATE}`,
    )
    .bind(type, id);
  return aggregateEvents.parse(await statement.first());
}

/** Counts the events that an erasure at `erasedAt`, in milliseconds since 1970, still has to erase. */
export async function countUnerased(
  database: D1Database,
  { type, id }: Aggregate,
  erasedAt: number,
): Promise<number> {
  const statement = database
    .prepare(`SELECT count(*) AS n FROM events WHERE ${UNERASED}`)
    .bind(type, id, erasedAt);
  return z.int().parse(await statement.first('n'));
}

/**
 * Empties the payloads of the events in one statement. Events that were erased before keep their `erased_at`. Returns
 * the number of events, counted before the statement: a repeated one finds none left to erase.
 */
export async function eraseAggregate(
  database: D1Database,
  aggregate: Aggregate,
  erasedAt: number,
): Promise<number> {
  const found = await countUnerased(database, aggregate, erasedAt);
  const statement = database
    .prepare(`UPDATE events SET payload = '{}', erased_at = ?3 WHERE ${UNERASED}`)
    .bind(aggregate.type, aggregate.id, erasedAt);
  await statement.run();
  return found;
}

export function countedEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
