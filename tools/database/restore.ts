/**
 * Brings an empty database into the state of a backup.
 *
 * The rows are copied in batches, so a table in the database marks the restore as unfinished until all rows are copied.
 * A restore that failed resumes when it is run again with the same file. Nothing else may write to the database
 * meanwhile. At the end, one transaction sets the lineage of the backup and a new generation, and drops the mark.
 */

import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import { type Erasure, playLedger } from '../erasure/ledger.ts';
import { batchesOf } from './batches.ts';
import { rowSize, type SqlValue } from './dump.ts';
import { type LoadedDump, scratchDatabase } from './dump-file.ts';
import { newGeneration, RESTORE_MARK, readLineage } from './identity.ts';
import { patiently } from './patiently.ts';
import {
  hasIntegerKey,
  readSchema,
  type SchemaStatement,
  tablesIn,
  writtenColumns,
} from './schema.ts';

/** The record of the migrations that are applied. */
const MIGRATIONS = 'd1_migrations';
/** A migration writes the one row of this table, so a database that was migrated and is empty holds this row. */
const IDENTITY = 'database_identity';

/** The row of the mark. */
const mark = z.object({
  hash: z.string(),
  /** 1 when the database was migrated before the restore: it then keeps its own record of migrations. */
  keeps_migrations: z.int(),
});
type Mark = z.infer<typeof mark>;

export type Restored = {
  /** `before`: an earlier run filled the database, although it was killed or reported a failure. */
  when: 'now' | 'before';
  /** The number of events that the ledger erased. */
  erased: number;
};

/**
 * Restores a backup. Calls `onBegin` before the first write. Throws a `UserError` for a database that is not empty,
 * unless this backup has filled it.
 */
export async function restore(
  target: D1Database,
  dump: LoadedDump,
  { ledger, onBegin }: { ledger: readonly Erasure[]; onBegin: () => void },
): Promise<Restored> {
  const source = scratchDatabase(dump.scratch);
  const lineage = await readLineage(source);
  const schema = await readSchema(source);
  const tables = tablesIn(await readSchema(target));
  const left = tables.includes(RESTORE_MARK) ? await readMark(target) : undefined;
  if (left !== undefined && left.hash !== dump.hash) {
    throw new UserError('the restore of another file into this database is not finished');
  }
  if (left === undefined && tables.includes(IDENTITY) && (await isFilledBy(target, dump))) {
    return { when: 'before', erased: await playLedger(target, lineage, ledger) };
  }
  if (left === undefined) await requireRestorable(target, source, schema, tables);
  const isMigrated = tables.some((name) => name !== MIGRATIONS);
  const { keeps_migrations } = left ?? { keeps_migrations: isMigrated ? 1 : 0 };
  // The ledger is played before a row is sent, so that no erased payload comes back even for a moment.
  const erased = await playLedger(source, lineage, ledger);

  onBegin();
  if (left === undefined) {
    const created = isMigrated ? [] : schema.filter(({ name }) => !tables.includes(name));
    await begin(target, { hash: dump.hash, keeps_migrations }, created);
  }
  const restored = tablesIn(schema).filter(
    (table) => table !== IDENTITY && (table !== MIGRATIONS || keeps_migrations === 0),
  );
  for (const table of restored) await copy(dump.scratch, target, table);
  await requireCounts(target, dump, restored);
  // The run that left the mark may have copied events that were erased since.
  if (left !== undefined) await playLedger(target, lineage, ledger);
  await finish(target, lineage, dump.hash);
  return { when: 'now', erased };
}

/** Returns the mark of a restore that is not finished. */
async function readMark(target: D1Database): Promise<Mark> {
  const statement = target.prepare(`SELECT * FROM "${RESTORE_MARK}"`);
  return mark.parse(await patiently(() => statement.first()));
}

/** Reports whether a restore of this backup has come to its end in the database. */
async function isFilledBy(target: D1Database, { hash }: LoadedDump): Promise<boolean> {
  const statement = target.prepare(`SELECT restored_from FROM ${IDENTITY}`);
  return (await patiently(() => statement.first('restored_from'))) === hash;
}

/** Sets the lineage and a new generation, and drops the mark, in one transaction. It may be repeated. */
async function finish(target: D1Database, lineage: string, hash: string): Promise<void> {
  const identity = target
    .prepare(`INSERT INTO ${IDENTITY} (lineage, generation, restored_from) VALUES (?, ?, ?)`)
    .bind(lineage, newGeneration(), hash);
  await patiently(() =>
    target.batch([
      target.prepare(`DELETE FROM ${IDENTITY}`),
      identity,
      target.prepare(`DROP TABLE IF EXISTS "${RESTORE_MARK}"`),
    ]),
  );
}

async function requireRestorable(
  target: D1Database,
  source: D1Database,
  schema: readonly SchemaStatement[],
  tables: readonly string[],
): Promise<void> {
  const own = tables.filter((name) => name !== MIGRATIONS);
  for (const table of own) {
    if (table === IDENTITY) continue;
    const any = target.prepare(`SELECT EXISTS (SELECT 1 FROM "${table}") AS found`);
    if ((await patiently(() => any.first<number>('found'))) === 0) continue;
    throw new UserError(`the database holds rows already (in ${table}): it must be empty`);
  }
  if (own.length === 0) return;
  for (const table of tablesIn(schema)) {
    if (table === MIGRATIONS) continue;
    const known = await writtenColumns(target, table);
    const missing = (await writtenColumns(source, table)).filter(
      (column) => !known.includes(column),
    );
    if (missing.length === 0) continue;
    throw new UserError(
      `the database is of an older version than the backup: ${table} lacks ${missing.join(', ')}. Migrate it, or take one without tables`,
    );
  }
}

/** Sets the mark, and makes the missing tables and indexes, in one transaction. It may be repeated. */
async function begin(
  target: D1Database,
  { hash, keeps_migrations }: Mark,
  created: readonly SchemaStatement[],
): Promise<void> {
  const leave = target
    .prepare(`INSERT OR IGNORE INTO "${RESTORE_MARK}" (hash, keeps_migrations) VALUES (?, ?)`)
    .bind(hash, keeps_migrations);
  await patiently(() =>
    target.batch([
      target.prepare(
        `CREATE TABLE IF NOT EXISTS "${RESTORE_MARK}" (hash text PRIMARY KEY, keeps_migrations integer NOT NULL)`,
      ),
      leave,
      ...created.map(({ sql }) =>
        target.prepare(
          sql.replace(/^(CREATE (?:TABLE|UNIQUE INDEX|INDEX)) /i, '$1 IF NOT EXISTS '),
        ),
      ),
    ]),
  );
}

/** Copies the rows of a table, in the columns that the target has. Rows of an earlier attempt are skipped. */
async function copy(scratch: DatabaseSync, target: D1Database, table: string): Promise<void> {
  const source = scratchDatabase(scratch);
  const known = await writtenColumns(target, table);
  const columns = (await writtenColumns(source, table)).filter((column) => known.includes(column));
  const list = columns.map((column) => `"${column}"`).join(', ');
  const isNumbered = await hasIntegerKey(source, table);
  const names = isNumbered ? list : `rowid, ${list}`;
  const places = [...(isNumbered ? [] : ['?']), ...columns.map(() => '?')].join(', ');
  const insert = target.prepare(`INSERT OR IGNORE INTO "${table}" (${names}) VALUES (${places})`);
  const rows = scratch.prepare(`SELECT ${names} FROM "${table}" ORDER BY rowid`).iterate();
  for (const batch of batchesOf(valuesOf(rows), rowSize)) {
    await patiently(() => target.batch(batch.map((values) => insert.bind(...values))));
  }
}

function* valuesOf(rows: Iterable<Record<string, unknown>>): Generator<SqlValue[]> {
  for (const row of rows) yield Object.values(row) as SqlValue[];
}

async function requireCounts(
  target: D1Database,
  { counts }: LoadedDump,
  restored: readonly string[],
): Promise<void> {
  for (const table of restored) {
    const expected = counts[table];
    const count = target.prepare(`SELECT count(*) AS n FROM "${table}"`);
    const found = await patiently(() => count.first<number>('n'));
    if (found === expected) continue;
    throw new UserError(
      `${table} holds ${found} rows after the restore, and the backup ${expected}`,
    );
  }
}
