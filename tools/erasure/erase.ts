/**
 * Erases the payloads of events. If a client later retries an erased event, it gets the event's id
 * and nothing is stored.
 */

import * as z from 'zod';

export type Aggregate = { type: string; id: string };
/** The erasure of an aggregate's events up to a time in milliseconds since 1970. */
export type AggregateErasure = Aggregate & { erasedAt: number };

const ERASURES_PER_CALL = 500;

const aggregateEvents = z.object({
  total: z.int(),
  /** Number of events that still have their payload. */
  unerased: z.int(),
  lastId: z.string().nullable(),
  /**
   * The database's current time in milliseconds since 1970, or the last event's time if that is
   * later.
   */
  now: z.int(),
});

const BELONGS_TO_AGGREGATE = 'aggregate_type = ?1 AND aggregate_id = ?2';

export async function findAggregate(database: D1Database, { type, id }: Aggregate) {
  const statement = database.prepare(
    `SELECT count(*) AS total,
       count(*) FILTER (WHERE erased_at IS NULL) AS unerased,
       max(coalesce(max(created_at), 0), CAST(1000 * unixepoch('subsec') AS INTEGER)) AS now,
       (SELECT id FROM events WHERE ${BELONGS_TO_AGGREGATE} ORDER BY seq DESC LIMIT 1) AS lastId
     FROM events WHERE ${BELONGS_TO_AGGREGATE}`,
  );
  return aggregateEvents.parse(await statement.bind(type, id).first());
}

/** Receives the number of erased events. Returns statements to add to the last transaction. */
export type Finish = (erased: number) => D1PreparedStatement[];

/**
 * Selects events that were accepted before the erasure of their aggregate. The erasures are in a
 * JSON list of `[type, id, erasedAt]`.
 */
const LISTED_AND_UNERASED = `aggregate_type = value ->> 0 AND aggregate_id = value ->> 1
  AND created_at <= value ->> 2 AND erased_at IS NULL`;

/**
 * Erases the payloads of events that were accepted before the erasure of their aggregate. Returns
 * the number of these events. They are counted in advance, because a transaction may be repeated
 * after its response was lost.
 */
export async function eraseAggregates(
  database: D1Database,
  erasures: readonly AggregateErasure[],
  finish: Finish = () => [],
): Promise<number> {
  // The list may contain an aggregate twice.
  const count = database.prepare(
    `SELECT count(DISTINCT seq) AS events FROM json_each(?1), events WHERE ${LISTED_AND_UNERASED}`,
  );
  const erase = database.prepare(
    `UPDATE events SET payload = '{}', erased_at = value ->> 2
     FROM json_each(?1) WHERE ${LISTED_AND_UNERASED}`,
  );
  let erased = 0;
  for (let start = 0; start === 0 || start < erasures.length; start += ERASURES_PER_CALL) {
    const part = erasures.slice(start, start + ERASURES_PER_CALL);
    const list = JSON.stringify(part.map(({ type, id, erasedAt }) => [type, id, erasedAt]));
    erased += z.int().parse(await count.bind(list).first('events'));
    const isLast = start + ERASURES_PER_CALL >= erasures.length;
    await database.batch([erase.bind(list), ...(isLast ? finish(erased) : [])]);
  }
  return erased;
}

export function formatEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
