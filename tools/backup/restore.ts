/**
 * Brings a database without rows into the state of a backup. While it runs, there are no tables that a
 * Worker knows: no event is accepted that could be lost.
 *
 *     restoring_5f0c31d2a4b97e60_events    the prefix, the key of the run, and the table
 *
 *     requireRestorable   the look: no rows, or an unfinished restore
 *     restore             (a) apply the ledger to the scratch copy: no erased payload is sent
 *                         (b) in one transaction: fail if a row or a table is new, drop all tables,
 *                             and make empty ones
 *                         (c) copy the rows, after those that an earlier run has sent
 *                         (d) in one transaction: fail if the counts differ, give the tables their
 *                             names, and write the identity
 *
 * The key is made of the file and the ledger, so a run with the same ones continues, and any other
 * starts over. (d) copies no row, and makes no index: D1 ends a request after 30 s.
 */

import { hash, randomBytes } from 'node:crypto';
import { messageOf, UserError } from '../command-line/user-error.ts';
import {
  beginGeneration,
  IDENTITY,
  RESTORING,
  readLineage,
  readState,
} from '../database/identity.ts';
import { recordOperation } from '../database/operations.ts';
import {
  countRows,
  hasRows,
  OWN_SCHEMA,
  readColumns,
  readPages,
  readSchema,
  readTables,
  splitIntoBatches,
} from '../database/tables.ts';
import { applyLedger, type Erasure } from '../erasure/ledger.ts';

const FILLED_AT_CREATION = ['d1_migrations', IDENTITY];
/** Of one value: D1's limit. A larger row is sent as a value per column. */
const MAX_VALUE_BYTES = 2_000_000;
/** What `failUnless` and a statement about a dropped table cause. */
const CHANGED = /malformed JSON|no such table/;

/** The name of each table in the backup → its name until the restore is finished. */
type Names = ReadonlyMap<string, string>;
/** For each table, the rows that were sent: how many, and the last `rowid`. */
type Places = ReadonlyMap<string, { count: number; last: number | null }>;

/** Throws a `UserError` for a database with rows that no interrupted restore has left. */
export async function requireRestorable(target: D1Database): Promise<void> {
  await readState(target);
  for (const table of (await readTables(target)).filter(mustBeEmpty)) {
    if (!(await hasRows(target, table))) continue;
    throw new UserError(
      `the database has rows (in ${table}): it must be empty, or an earlier restore is complete`,
    );
  }
}

function mustBeEmpty(table: string): boolean {
  return !FILLED_AT_CREATION.includes(table) && !table.startsWith(RESTORING);
}

type Options = {
  /** The path of the backup, and its checksum. */
  file?: string | undefined;
  sum?: string;
  /** Called with the number of rows that were sent. */
  onProgress?: (done: number, total: number) => void;
};

/** Returns the number of events that were erased. */
export async function restore(
  target: D1Database,
  scratch: D1Database,
  ledger: readonly Erasure[],
  { file, sum = '', onProgress = () => {} }: Options = {},
): Promise<number> {
  const lineage = await readLineage(scratch);
  const erased = await applyLedger(scratch, lineage, ledger);
  const own = ledger.filter((erasure) => erasure.lineage === lineage);
  const key = hash('sha256', JSON.stringify([sum, own])).slice(0, 16);
  const tables = await readTables(scratch);
  const names = new Map(tables.map((table) => [table, `${RESTORING}${key}_${table}`]));
  const copied = tables.filter((table) => table !== IDENTITY);
  const counts = await countRows(scratch, copied);
  const total = copied.reduce((sum, table) => sum + (counts[table] ?? 0), 0);
  try {
    const places =
      (await findPlaces(target, scratch, names)) ?? (await begin(target, scratch, names));
    let done = 0;
    for (const { count } of places.values()) done += count;
    onProgress(done, total);
    for (const table of copied) {
      for await (const count of copy(scratch, target, table, names, places)) {
        done += count;
        onProgress(done, total);
      }
    }
    const id = crypto.randomUUID();
    const operation = { id, command: 'restore', file, counts: { rows: total, erased } };
    await finish(target, lineage, names, counts, recordOperation(target, operation));
    return erased;
  } catch (error) {
    if (!CHANGED.test(messageOf(error))) throw error;
    throw new UserError('another command has changed the database meanwhile');
  }
}

/** Writes a statement that makes its transaction fail. */
function failUnless(conditions: readonly string[]): string {
  return `SELECT json(iif(${conditions.join(' AND ')}, 'true', 'changed'))`;
}

/**
 * Finds where an earlier run with this key stopped. Rows are sent in order, so it has sent those up
 * to the last one; if it has not, there is no such place.
 */
async function findPlaces(
  target: D1Database,
  scratch: D1Database,
  names: Names,
): Promise<Places | undefined> {
  const known = await readTables(target);
  if (![...names.values()].every((name) => known.includes(name))) return undefined;
  const places = new Map<string, { count: number; last: number | null }>();
  for (const [table, name] of names) {
    const sent = target.prepare(`SELECT count(*) AS count, max(rowid) AS last FROM "${name}"`);
    const place = await sent.first<{ count: number; last: number | null }>();
    const upTo = scratch.prepare(`SELECT count(*) AS n FROM "${table}" WHERE rowid <= ?`);
    if (place === null || (await upTo.bind(place.last).first('n')) !== place.count)
      return undefined;
    places.set(table, place);
  }
  return places;
}

/**
 * Makes empty tables. They are renamed after their indexes are made, because the condition of an
 * index names its table, and SQLite renames both.
 */
async function begin(target: D1Database, scratch: D1Database, names: Names): Promise<Places> {
  const found = await readSchema(target);
  const old = found.filter(({ type }) => type === 'table').map(({ name }) => name);
  const statements = [
    failUnless([
      `(SELECT count(*) ${OWN_SCHEMA}) = ${found.length}`,
      ...old.filter(mustBeEmpty).map((table) => `NOT EXISTS (SELECT 1 FROM "${table}")`),
    ]),
    ...old.map((table) => `DROP TABLE "${table}"`),
    ...(await readSchema(scratch)).map(({ sql }) => sql),
    ...Array.from(names, ([table, name]) => `ALTER TABLE "${table}" RENAME TO "${name}"`),
  ];
  try {
    await target.batch(statements.map((sql) => target.prepare(sql)));
    return new Map();
  } catch (error) {
    // The response of a successful attempt may be lost, or another run with this key has begun.
    const places = await findPlaces(target, scratch, names);
    if (places === undefined) throw error;
    return places;
  }
}

/** Yields the number of rows of each call. A call may be repeated: rows have their `rowid`. */
async function* copy(
  scratch: D1Database,
  target: D1Database,
  table: string,
  names: Names,
  places: Places,
): AsyncGenerator<number> {
  const columns = await readColumns(scratch, table);
  const insert = `INSERT OR REPLACE INTO "${names.get(table)}" (${columns.map((column) => `"${column}"`)})`;
  const rows = target.prepare(
    `${insert} SELECT ${columns.map((_, place) => `value->>${place}`)} FROM json_each(?1)`,
  );
  const row = target.prepare(`${insert} VALUES (${columns.map(() => '?')})`);
  for await (const { json, count } of splitIntoBatches(readRows())) {
    const isOne = Buffer.byteLength(json) > MAX_VALUE_BYTES;
    const values = isOne ? JSON.parse(json)[0] : [json];
    await (isOne ? row : rows).bind(...values).run();
    yield count;
  }
  async function* readRows() {
    const after = places.get(table)?.last ?? undefined;
    for await (const page of readPages(scratch, table, columns, after)) {
      for (const row of page) yield JSON.stringify(columns.map((column) => row[column]));
    }
  }
}

/** Fails if rows are missing: the next run starts over. */
async function finish(
  target: D1Database,
  lineage: string,
  names: Names,
  counts: Readonly<Record<string, number>>,
  record: D1PreparedStatement,
): Promise<void> {
  const generation = randomBytes(16).toString('hex');
  const statements = [
    failUnless(
      Object.entries(counts).map(
        ([table, count]) => `(SELECT count(*) FROM "${names.get(table)}") = ${count}`,
      ),
    ),
    ...Array.from(names, ([table, name]) => `ALTER TABLE "${name}" RENAME TO "${table}"`),
  ];
  try {
    await target.batch([
      ...statements.map((sql) => target.prepare(sql)),
      beginGeneration(target, lineage, generation),
      record,
    ]);
  } catch (error) {
    // The response of a successful attempt may be lost: only this run knows the generation.
    const found = target.prepare(`SELECT generation FROM ${IDENTITY}`).first('generation');
    if ((await found.catch(() => undefined)) !== generation) throw error;
  }
}
