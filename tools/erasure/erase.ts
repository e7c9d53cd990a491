/** Erases payloads. A late retry of an event still gets its id, and stores nothing. */

import * as z from 'zod';

export type Aggregate = { type: string; id: string };
/** Of an aggregate's events up to a time, in milliseconds since 1970. */
export type AggregateErasure = Aggregate & { erasedAt: number };

/** Each looks through the list again for each of its events. */
const ERASURES_PER_STATEMENT = 200;

const aggregateEvents = z.object({
  total: z.int(),
  /** The events up to a time that still have their payload. */
  unerased: z.int(),
  lastId: z.string().nullable(),
  /** The database's time, but not before the last event, in milliseconds since 1970. */
  now: z.int(),
});

const OF_AGGREGATE = 'aggregate_type = ?1 AND aggregate_id = ?2';

export async function findAggregate(
  database: D1Database,
  { type, id }: Aggregate,
  until = Number.MAX_SAFE_INTEGER,
) {
  const statement = database.prepare(
    `SELECT count(*) AS total,
       count(*) FILTER (WHERE erased_at IS NULL AND created_at <= ?3) AS unerased,
       max(coalesce(max(created_at), 0), CAST(1000 * unixepoch('subsec') AS INTEGER)) AS now,
       (SELECT id FROM events WHERE ${OF_AGGREGATE} ORDER BY seq DESC LIMIT 1) AS lastId
     FROM events WHERE ${OF_AGGREGATE}`,
  );
  return aggregateEvents.parse(await statement.bind(type, id, until).first());
}

/** The events to erase. Each erasure is `["TYPE","ID",ERASED_AT]`; later events are spared. */
const UNERASED = `json_each(?1) AS erasure CROSS JOIN events
  ON aggregate_id = erasure.value->>1 AND aggregate_type = erasure.value->>0
    AND created_at <= erasure.value->>2 AND erased_at IS NULL`;

const toJson = (erasures: readonly AggregateErasure[]) =>
  JSON.stringify(erasures.map(({ type, id, erasedAt }) => [type, id, erasedAt]));

const COUNT = `SELECT count(DISTINCT seq) AS events FROM ${UNERASED}`;

/** An event that two erasures name is erased by the earlier one. */
const ERASE = `UPDATE events SET payload = '{}', erased_at = (
    SELECT min(value->>2) FROM json_each(?1)
    WHERE value->>1 = aggregate_id AND value->>0 = aggregate_type AND value->>2 >= created_at)
  WHERE seq IN (SELECT seq FROM ${UNERASED})`;

/** Returns the other statements of the transaction, given the number of erased events. */
export type Finish = (erased: number) => D1PreparedStatement[];

/** Returns the number of events, counted before because the transaction may be repeated. */
export async function eraseAggregates(
  database: D1Database,
  erasures: readonly AggregateErasure[],
  finish: Finish = () => [],
): Promise<number> {
  const statements: D1PreparedStatement[] = [];
  let erased = 0;
  for (let start = 0; start < erasures.length; start += ERASURES_PER_STATEMENT) {
    const part = toJson(erasures.slice(start, start + ERASURES_PER_STATEMENT));
    erased += z.int().parse(await database.prepare(COUNT).bind(part).first('events'));
    statements.push(database.prepare(ERASE).bind(part));
  }
  statements.push(...finish(erased));
  if (statements.length > 0) await database.batch(statements);
  return erased;
}

/** As `eraseAggregates`. */
export function eraseAggregate(
  database: D1Database,
  aggregate: Aggregate,
  erasedAt: number,
  finish?: Finish,
): Promise<number> {
  return eraseAggregates(database, [{ ...aggregate, erasedAt }], finish);
}

export function formatEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
