/** The identity of a database: its lineage, its generation, and the mark of a restore that is not finished. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import { patiently } from './patiently.ts';

/** The table that `restore` leaves in a database until it has filled it. */
export const RESTORE_MARK = '_restore_under_way';

const lineage = z.string().regex(/^[0-9a-f]{32}$/);

/** Reads the lineage, which a database shares with its backups and with the databases restored from them. */
export async function readLineage(database: D1Database): Promise<string> {
  const statement = database.prepare('SELECT lineage FROM database_identity');
  return lineage.parse(await patiently(() => statement.first('lineage')));
}

/** Makes the name of a generation. */
export function newGeneration(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Begins a new generation of a database that was set back in place: cursors of the generation before are refused. It
 * may be repeated.
 */
export async function beginGeneration(database: D1Database): Promise<void> {
  const statement = database
    .prepare('UPDATE database_identity SET generation = ?, restored_from = NULL')
    .bind(newGeneration());
  await patiently(() => statement.run());
}

/** Throws a `UserError` when a restore of the database is not finished. Works for a database without tables. */
export async function refuseUnfinishedRestore(database: D1Database): Promise<void> {
  const statement = database
    .prepare('SELECT count(*) AS marks FROM sqlite_schema WHERE name = ?')
    .bind(RESTORE_MARK);
  if ((await patiently(() => statement.first('marks'))) === 0) return;
  throw new UserError(
    'a restore of this database is not finished: run `npm run restore` again with the same file, and it goes on',
  );
}

/** A table of the first migration. */
const FIRST_TABLE = 'properties';

/**
 * Throws a `UserError` when the database has tables, and they are another application's. D1's own tables and wrangler's
 * record of migrations do not count.
 */
export async function refuseOtherTables(database: D1Database, name: string): Promise<void> {
  const statement = database.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'd1_migrations'
       AND substr(name, 1, 4) <> '_cf_' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`,
  );
  const { results } = await patiently(() => statement.all<{ name: string }>());
  const tables = results.map((table) => table.name);
  if (tables.length === 0 || tables.includes(FIRST_TABLE)) return;
  throw new UserError(
    `the database ${name} has the tables of another application (${tables.slice(0, 3).join(', ')}): is database_name in wrangler.toml misspelt?`,
  );
}
