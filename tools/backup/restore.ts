/**
 * Brings a database without rows into the state of a backup, while a Worker may be serving from it.
 * Rows go into staging tables, which no Worker knows:
 *
 *     restoring_5f0c31d2a4b97e60_events    the prefix, the key of the run, and the table
 *
 *     requireRestorable   no rows, or an unfinished restore
 *     restore             (a) apply the ledger to the scratch copy: no erased payload is sent
 *                         (b) in one transaction: delete the identity, and make empty staging tables
 *                         (c) copy the rows, after those that an earlier run has sent
 *                         (d) in one transaction: compare the counts and write the identity, append
 *                             what has arrived in the live tables, and put the staging tables in
 *                             their place
 *
 * Between (b) and (d) the database has no identity: the restore is unfinished. The key is made of
 * the file and the ledger, so a run with the same ones continues, and any other starts over.
 * (d) copies no restored row, and makes no index: its time does not grow with the backup.
 */

import { hash, randomBytes } from 'node:crypto';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { IDENTITY, readLineage, readState } from '../database/identity.ts';
import { recordOperation } from '../database/operations.ts';
import {
  countRows,
  hasRows,
  readColumns,
  readPages,
  readSchema,
  readTables,
  splitIntoBatches,
} from '../database/tables.ts';
import { applyLedger, type Erasure } from '../erasure/ledger.ts';

const STAGING = 'restoring_';
/** The names of the indexes belong to the staging tables: those of the live tables give way. */
const LIVE = `${STAGING}live_`;
const TABLES_FILLED_AT_CREATION = ['d1_migrations', IDENTITY];
/** An import that stages rows meanwhile notices that they are gone, and begins again. */
const NOT_APPENDED = [...TABLES_FILLED_AT_CREATION, 'import_staging'];
/** A null generation. */
const COUNTS_DIFFER = /NOT NULL constraint failed: \w+\.generation/;
/** Of one value: D1's limit. A larger row is sent as a value per column. */
const MAX_VALUE_BYTES = 2_000_000;

/** Throws a `UserError` for a database with rows that no interrupted restore has left. */
export async function requireRestorable(target: D1Database, scratch: D1Database): Promise<void> {
  const state = await readState(target);
  if (state === 'unfinished') return;
  for (const table of await readTables(target)) {
    if (TABLES_FILLED_AT_CREATION.includes(table) || !(await hasRows(target, table))) continue;
    const lineage = await readLineage(scratch);
    const isRestored = state === 'whole' && (await readLineage(target)) === lineage;
    const hint = isRestored
      ? `. If an earlier run ended without a word, it has completed: the database has the identity that a restore writes last ("SELECT lineage FROM ${IDENTITY}" gives ${lineage}, as in the backup)`
      : '';
    throw new UserError(`the database has rows already (in ${table}): it must be empty${hint}`);
  }
}

type Options = {
  /** The path of the backup, and its checksum. */
  file?: string | undefined;
  sum?: string;
  /** Called with the number of rows that are in the staging tables. */
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
  const copied = tables.filter((table) => table !== IDENTITY);
  const stagingOf = (table: string) => `${STAGING}${key}_${table}`;

  const places =
    (await findPlaces(target, scratch, copied, stagingOf)) ??
    (await begin(target, scratch, tables, stagingOf));
  const counts = await countRows(scratch, copied);
  const total = copied.reduce((sum, table) => sum + (counts[table] ?? 0), 0);
  let done = copied.reduce((sum, table) => sum + (places[table]?.count ?? 0), 0);
  onProgress(done, total);
  for (const table of copied) {
    const after = places[table]?.last;
    for await (const count of copy(scratch, target, table, stagingOf(table), after)) {
      done += count;
      onProgress(done, total);
    }
  }
  const operation = { id: crypto.randomUUID(), command: 'restore', file };
  const record = tables.includes('operations')
    ? [recordOperation(target, { ...operation, counts: { rows: total, erased } })]
    : [];
  await takePlace(target, lineage, tables, counts, stagingOf, record);
  return erased;
}

type StagingOf = (table: string) => string;
/** The rows that were sent: how many, and the last `rowid`. */
type Places = Record<string, { count: number; last: number | undefined }>;

/**
 * Finds where an earlier run with this key stopped. Rows are sent in order, so it has sent those up
 * to the last one; if it has not, there is no such place.
 */
async function findPlaces(
  target: D1Database,
  scratch: D1Database,
  tables: readonly string[],
  stagingOf: StagingOf,
): Promise<Places | undefined> {
  const known = await readTables(target);
  if (!tables.every((table) => known.includes(stagingOf(table)))) return undefined;
  const sent = await countRows(target, tables.map(stagingOf));
  const places: Places = {};
  for (const table of tables) {
    const count = sent[stagingOf(table)] ?? 0;
    const newest = target.prepare(`SELECT max(rowid) AS last FROM "${stagingOf(table)}"`);
    const last = (await newest.first<number | null>('last')) ?? undefined;
    const upTo = scratch.prepare(`SELECT count(*) AS n FROM "${table}" WHERE rowid <= ?`);
    if (last !== undefined && (await upTo.bind(last).first('n')) !== count) return undefined;
    places[table] = { count, last };
  }
  return places;
}

/**
 * Makes empty staging tables, whose indexes have the names of the backup. SQLite renames no index,
 * so they are made under the live tables' names, while these step aside for the transaction.
 */
async function begin(
  target: D1Database,
  scratch: D1Database,
  tables: readonly string[],
  stagingOf: StagingOf,
): Promise<Places> {
  const found = await readSchema(target);
  const isStaging = ({ table }: { table: string }) => table.startsWith(STAGING);
  const old = found.filter((each) => each.type === 'table' && isStaging(each));
  const live = found.filter((each) => !isStaging(each));
  const stay = live.filter(({ type }) => type === 'table').map(({ name }) => name);
  const indexes = live.filter(({ type, name }) => type === 'index' && !name.startsWith(STAGING));
  const aside = tables.filter((table) => stay.includes(table));
  const schema = await readSchema(scratch);
  const identity = schema.find(({ name }) => name === IDENTITY);
  const isNew = !stay.includes(IDENTITY);
  const statements = [
    // It may be repeated, so it also drops the tables that it makes.
    ...[...old.map(({ name }) => name), ...tables.map(stagingOf), ...(isNew ? [IDENTITY] : [])].map(
      (name) => `DROP TABLE IF EXISTS "${name}"`,
    ),
    ...indexes.flatMap(({ name, sql }) => [
      `DROP INDEX IF EXISTS "${name}"`,
      sql.replace(/INDEX\s+(\S+)/i, `INDEX IF NOT EXISTS "${LIVE}${name}"`),
    ]),
    ...aside.map((table) => `ALTER TABLE "${table}" RENAME TO "${LIVE}${table}"`),
    ...schema.map(({ sql }) => sql),
    ...tables.map((table) => `ALTER TABLE "${table}" RENAME TO "${stagingOf(table)}"`),
    ...aside.map((table) => `ALTER TABLE "${LIVE}${table}" RENAME TO "${table}"`),
    // Also in a database without tables, so that every command sees the unfinished restore.
    isNew ? (identity?.sql ?? '') : `DELETE FROM ${IDENTITY}`,
  ];
  await target.batch(statements.map((sql) => target.prepare(sql)));
  return {};
}

/** Yields the number of rows of each call. A call may be repeated: rows have their `rowid`. */
async function* copy(
  scratch: D1Database,
  target: D1Database,
  table: string,
  staging: string,
  after: number | undefined,
): AsyncGenerator<number> {
  const columns = await readColumns(scratch, table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const insert = `INSERT OR REPLACE INTO "${staging}" (${names})`;
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
    for await (const page of readPages(scratch, table, columns, after)) {
      for (const row of page) yield JSON.stringify(columns.map((column) => row[column]));
    }
  }
}

/** Throws a `UserError` if rows are missing: the next run starts over. */
async function takePlace(
  target: D1Database,
  lineage: string,
  tables: readonly string[],
  counts: Record<string, number>,
  stagingOf: StagingOf,
  record: D1PreparedStatement[],
): Promise<void> {
  const live = (await readTables(target)).filter((table) => !table.startsWith(STAGING));
  const differs = Object.entries(counts)
    .map(([table, count]) => `(SELECT count(*) FROM "${stagingOf(table)}") <> ${count}`)
    .join(' OR ');
  const generation = randomBytes(16).toString('hex');
  // Fails if rows are missing: a generation is never null.
  const identity = target.prepare(
    `INSERT INTO "${stagingOf(IDENTITY)}" (lineage, generation) VALUES (?, iif(${differs}, NULL, ?))`,
  );
  const arrived: string[] = [];
  for (const table of tables) {
    if (!live.includes(table) || NOT_APPENDED.includes(table)) continue;
    arrived.push(await appendArrived(target, table, stagingOf(table)));
  }
  const statements = [
    target.prepare(`DELETE FROM "${stagingOf(IDENTITY)}"`),
    identity.bind(lineage, generation),
    ...[
      ...arrived,
      ...live.map((table) => `DROP TABLE "${table}"`),
      ...tables.map((table) => `ALTER TABLE "${stagingOf(table)}" RENAME TO "${table}"`),
    ].map((sql) => target.prepare(sql)),
    ...record,
  ];
  try {
    await target.batch(statements);
  } catch (error) {
    // The response of a successful attempt may be lost: only this run knows the generation.
    const found = target.prepare(`SELECT generation FROM ${IDENTITY}`).first('generation');
    if ((await found.catch(() => undefined)) === generation) return;
    if (!COUNTS_DIFFER.test(messageOf(error))) throw error;
    throw new UserError('the database does not have the rows of the backup, which were sent');
  }
}

/** A row gets the next `rowid`, unless a restored row holds its id. */
async function appendArrived(target: D1Database, table: string, staging: string): Promise<string> {
  const columns = `
    SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0 AND NOT (pk AND type LIKE 'integer')
      AND name IN (SELECT name FROM pragma_table_xinfo(?2) WHERE hidden = 0)`;
  const { results } = await target.prepare(columns).bind(table, staging).all<{ name: string }>();
  const names = results.map(({ name }) => `"${name}"`).join(', ');
  return `INSERT OR IGNORE INTO "${staging}" (${names}) SELECT ${names} FROM "${table}" ORDER BY rowid`;
}
