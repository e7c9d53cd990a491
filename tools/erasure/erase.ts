/** Erases payloads. A late retry of an event still gets its id, and stores nothing. */

import * as z from 'zod';

export type Aggregate = { type: string; id: string };
/** Of an aggregate's events up to a time, in milliseconds since 1970. */
export type AggregateErasure = Aggregate & { erasedAt: number };

const ERASURES_PER_CALL = 500;

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
    `SELECT count(*) AS total,
       count(*) FILTER (WHERE ${UNERASED}) AS unerased,
       max(coalesce(max(created_at), 0), CAST(1000 * unixepoch('subsec') AS INTEGER)) AS now,
       (SELECT id FROM events WHERE ${OF_AGGREGATE} ORDER BY seq DESC LIMIT 1) AS lastId
     FROM events WHERE ${OF_AGGREGATE}`,
  );
  return aggregateEvents.parse(await statement.bind(type, id, until).first());
}

/** Returns the other statements of the last transaction, given the number of erased events. */
export type Finish = (erased: number) => D1PreparedStatement[];

/** Returns the number of events, counted before because a transaction may be repeated. */
export async function eraseAggregates(
  database: D1Database,
  erasures: readonly AggregateErasure[],
  finish: Finish = () => [],
): Promise<number> {
  const count = database.prepare(
    `SELECT count(*) AS events FROM events WHERE ${OF_AGGREGATE} AND ${UNERASED}`,
  );
  const erase = database.prepare(
    `UPDATE events SET payload = '{}', erased_at = ?3 WHERE ${OF_AGGREGATE} AND ${UNERASED}`,
  );
  let erased = 0;
  for (let start = 0; start === 0 || start < erasures.length; start += ERASURES_PER_CALL) {
    const part = erasures.slice(start, start + ERASURES_PER_CALL);
    // The latest erasure of an aggregate covers the events of those before it.
    const latest = Map.groupBy(part, ({ type, id }) => JSON.stringify([type, id]));
    const counts = [...latest.values()].map((all) => {
      const { type, id } = all[0] ?? { type: '', id: '' };
      return count.bind(type, id, Math.max(...all.map(({ erasedAt }) => erasedAt)));
    });
    const counted = counts.length > 0 ? await database.batch<{ events: number }>(counts) : [];
    for (const { results } of counted) erased += z.int().parse(results[0]?.events);
    const isLast = start + ERASURES_PER_CALL >= erasures.length;
    const statements = part.map(({ type, id, erasedAt }) => erase.bind(type, id, erasedAt));
    if (isLast) statements.push(...finish(erased));
    if (statements.length > 0) await database.batch(statements);
  }
  return erased;
}

export function formatEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
