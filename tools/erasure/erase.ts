/** Erases payloads. A late retry of an event still gets its id, and stores nothing. */

import * as z from 'zod';

export type Aggregate = { type: string; id: string };

const aggregateEvents = z.object({
  total: z.int(),
  /** The events up to a time that still have their payload. */
  unerased: z.int(),
  lastId: z.string().nullable(),
  /** The database's time, but not before the last event, in milliseconds since 1970. */
  now: z.int(),
});

const OF_AGGREGATE = 'aggregate_type = ?1 AND aggregate_id = ?2';
/** Spares events that came after the erasure. */
const UNERASED = 'erased_at IS NULL AND created_at <= ?3';

export async function findAggregate(
  database: D1Database,
  { type, id }: Aggregate,
  until = Number.MAX_SAFE_INTEGER,
) {
  const statement = database.prepare(
    `SELECT count(*) AS total, count(*) FILTER (WHERE ${UNERASED}) AS unerased,
       max(coalesce(max(created_at), 0), CAST(1000 * unixepoch('subsec') AS INTEGER)) AS now,
       (SELECT id FROM events WHERE ${OF_AGGREGATE} ORDER BY seq DESC LIMIT 1) AS lastId
     FROM events WHERE ${OF_AGGREGATE}`,
  );
  return aggregateEvents.parse(await statement.bind(type, id, until).first());
}

/** Returns the number of events, counted before because the UPDATE may be repeated. */
export async function eraseAggregate(
  database: D1Database,
  aggregate: Aggregate,
  erasedAt: number,
): Promise<number> {
  const { unerased } = await findAggregate(database, aggregate, erasedAt);
  await database
    .prepare(
      `UPDATE events SET payload = '{}', erased_at = ?3 WHERE ${OF_AGGREGATE} AND ${UNERASED}`,
    )
    .bind(aggregate.type, aggregate.id, erasedAt)
    .run();
  return unerased;
}

export function formatEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
