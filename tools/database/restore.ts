/**
 * Brings an empty database into the state of a backup.
 *
 * The rows come in batches, so a mark says what is under way: a restore that failed is run again with the
 * same file, and goes on. Nothing else may write to the database meanwhile.
 */

import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { patiently } from '../../src/storage/d1.ts';
import { UserError } from '../command-line/project.ts';
import { type Erasure, playLedger } from '../erasure/ledger.ts';
import { RESTORE_MARK, writtenColumns } from './dump.ts';
import type { LoadedDump } from './dump-file.ts';
import { scratchDatabase } from './scratch.ts';
import { rowSize, type SqlValue } from './sql-literal.ts';

const ROWS_PER_BATCH = 100;
const BYTES_PER_BATCH = 1_000_000;
/** The record of what wrangler has applied. */
const MIGRATIONS = 'd1_migrations';

const statement = z.object({ type: z.string(), name: z.string(), sql: z.string() });
type SchemaStatement = z.infer<typeof statement>;

export type RestoreOptions = {
  ledger: readonly Erasure[];
  /** Called before the first write. */
  onBegin: () => void;
};

/** Restores a backup. Returns how many events the ledger erased in it. Throws a `UserError` for a database that is not empty. */
export async function restore(
  target: D1Database,
  dump: LoadedDump,
  { ledger, onBegin }: RestoreOptions,
): Promise<number> {
  const schema = schemaOf(dump.scratch);
  const tables = await tablesOf(target);
  await requireRestorable(target, dump, tables);
  const isFresh = tables.every((name) => name === MIGRATIONS || name === RESTORE_MARK);
  const isResumed = tables.includes(RESTORE_MARK);
  const erased = await eraseAgain(dump, ledger);

  onBegin();
  if (!isResumed) await begin(target, dump, isFresh ? schema : [], tables);
  // A database that was migrated by itself keeps its own record of that.
  const own = isFresh || isResumed ? undefined : MIGRATIONS;
  const names = schema.filter(({ type }) => type === 'table').map(({ name }) => name);
  for (const table of names) {
    if (table !== own) await copy(dump.scratch, target, table);
  }
  await requireCounts(target, dump, own);
  await patiently(() => target.prepare(`DROP TABLE "${RESTORE_MARK}"`).run());
  return erased;
}

/** Before a row is sent: what was erased does not come back for a moment. */
async function eraseAgain(
  { scratch, name }: LoadedDump,
  ledger: readonly Erasure[],
): Promise<number> {
  const columns = scratch.prepare(`SELECT name FROM pragma_table_info('events')`).all();
  if (columns.length === 0) return 0;
  // A backup from before erasures can be told by their time has no such column, and gets none.
  if (!columns.some((column) => column.name === 'erased_at')) {
    scratch.exec('ALTER TABLE events ADD COLUMN erased_at integer');
  }
  return playLedger(scratchDatabase(scratch), name, ledger);
}

function schemaOf(scratch: DatabaseSync): SchemaStatement[] {
  const rows = scratch
    .prepare(
      `SELECT type, name, sql FROM sqlite_schema
       WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
       ORDER BY type = 'index', name`,
    )
    .all();
  return z.array(statement).parse(rows);
}

async function tablesOf(target: D1Database): Promise<string[]> {
  const query = target.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table'
     AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'`,
  );
  const { results } = await patiently(() => query.all());
  return z
    .array(z.object({ name: z.string() }))
    .parse(results)
    .map(({ name }) => name);
}

async function requireRestorable(
  target: D1Database,
  dump: LoadedDump,
  tables: readonly string[],
): Promise<void> {
  if (tables.includes(RESTORE_MARK)) {
    const mark = target.prepare(`SELECT hash FROM "${RESTORE_MARK}"`);
    const hash = await patiently(() => mark.first<string>('hash'));
    if (hash === dump.hash) return;
    throw new UserError('the restore of another file into this database is not finished');
  }
  const own = tables.filter((name) => name !== MIGRATIONS);
  for (const table of own) {
    const any = target.prepare(`SELECT EXISTS (SELECT 1 FROM "${table}") AS found`);
    if ((await patiently(() => any.first<number>('found'))) === 0) continue;
    throw new UserError(`the database holds rows already (in ${table}): it must be empty`);
  }
  if (own.length === 0) return;
  for (const { type, name } of schemaOf(dump.scratch)) {
    if (type !== 'table' || name === MIGRATIONS) continue;
    const known = await writtenColumns(target, name);
    const missing = columnsOf(dump.scratch, name).filter((column) => !known.includes(column));
    if (missing.length === 0) continue;
    throw new UserError(
      `the database is of an older version than the backup: ${name} lacks ${missing.join(', ')}. Migrate it, or take one without tables`,
    );
  }
}

async function begin(
  target: D1Database,
  { hash }: LoadedDump,
  schema: readonly SchemaStatement[],
  tables: readonly string[],
): Promise<void> {
  const created = schema.filter(({ name }) => !tables.includes(name));
  await patiently(() =>
    target.batch([
      target.prepare(`CREATE TABLE IF NOT EXISTS "${RESTORE_MARK}" (hash text PRIMARY KEY)`),
      target.prepare(`INSERT OR IGNORE INTO "${RESTORE_MARK}" (hash) VALUES (?)`).bind(hash),
      ...created.map(({ sql }) =>
        target.prepare(
          sql.replace(/^(CREATE (?:TABLE|UNIQUE INDEX|INDEX)) /i, '$1 IF NOT EXISTS '),
        ),
      ),
    ]),
  );
}

/** Copies the columns that the target has. A row that is there already was copied by an earlier attempt. */
async function copy(scratch: DatabaseSync, target: D1Database, table: string): Promise<void> {
  const known = await writtenColumns(target, table);
  const columns = columnsOf(scratch, table).filter((column) => known.includes(column));
  const list = columns.map((column) => `"${column}"`).join(', ');
  const isNumbered = scratch
    .prepare(`SELECT 1 FROM pragma_table_info(?) WHERE pk > 0 AND lower(type) = 'integer'`)
    .get(table);
  const names = isNumbered ? list : `rowid, ${list}`;
  const places = [...(isNumbered ? [] : ['?']), ...columns.map(() => '?')].join(', ');
  const insert = target.prepare(`INSERT OR IGNORE INTO "${table}" (${names}) VALUES (${places})`);
  let batch: D1PreparedStatement[] = [];
  let bytes = 0;
  const send = async () => {
    const statements = batch;
    batch = [];
    bytes = 0;
    if (statements.length > 0) await patiently(() => target.batch(statements));
  };
  for (const row of scratch.prepare(`SELECT ${names} FROM "${table}" ORDER BY rowid`).iterate()) {
    const values = Object.values(row) as SqlValue[];
    const size = rowSize(values);
    if (batch.length === ROWS_PER_BATCH || bytes + size > BYTES_PER_BATCH) await send();
    batch.push(insert.bind(...values));
    bytes += size;
  }
  await send();
}

async function requireCounts(
  target: D1Database,
  { counts }: LoadedDump,
  own: string | undefined,
): Promise<void> {
  for (const [table, expected] of Object.entries(counts)) {
    if (table === own) continue;
    const count = target.prepare(`SELECT count(*) AS n FROM "${table}"`);
    const found = await patiently(() => count.first<number>('n'));
    if (found === expected) continue;
    throw new UserError(
      `${table} holds ${found} rows after the restore, and the backup ${expected}`,
    );
  }
}

/** Computed columns have no values of their own. */
function columnsOf(scratch: DatabaseSync, table: string): string[] {
  return scratch
    .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .all(table)
    .map(({ name }) => String(name));
}
