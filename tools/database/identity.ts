/**
 * The identity of a database: its lineage and its generation. `restore` writes it last, so a database without it is
 * unfinished.
 */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import { readSchema, tablesIn } from './schema.ts';

/** A table of one row. */
export const IDENTITY = 'database_identity';

const lineage = z.string().regex(/^[0-9a-f]{32}$/);

/** The lineage is the same in backups and in databases restored from them. */
export async function readLineage(database: D1Database): Promise<string> {
  const statement = database.prepare(`SELECT lineage FROM ${IDENTITY}`);
  return lineage.parse(await statement.first('lineage'));
}

/** Writes the identity of a restored database, in a new generation. */
export async function writeIdentity(database: D1Database, lineage: string): Promise<void> {
  const statement = database
    .prepare(`INSERT OR REPLACE INTO ${IDENTITY} (lineage, generation) VALUES (?, ?)`)
    .bind(lineage, newGeneration());
  await statement.run();
}

/** Begins a new generation of a rewound database: earlier cursors are rejected. */
export async function beginGeneration(database: D1Database): Promise<void> {
  const statement = database.prepare(`UPDATE ${IDENTITY} SET generation = ?`).bind(newGeneration());
  await statement.run();
}

function newGeneration(): string {
  return randomBytes(16).toString('hex');
}

export async function isUnfinished(database: D1Database): Promise<boolean> {
  const tables = database
    .prepare('SELECT count(*) AS n FROM sqlite_schema WHERE name = ?')
    .bind(IDENTITY);
  if ((await tables.first('n')) === 0) return false;
  const rows = database.prepare(`SELECT count(*) AS n FROM ${IDENTITY}`);
  return (await rows.first('n')) === 0;
}

/** Throws a `UserError` if a restore of the database was interrupted. */
export async function rejectUnfinishedRestore(database: D1Database): Promise<void> {
  if (!(await isUnfinished(database))) return;
  throw new UserError('a restore of this database is not finished: run `npm run restore` again');
}

/** A table of the first migration. */
const FIRST_TABLE = 'properties';

/** Throws a `UserError` if the database has the tables of another application. */
export async function rejectOtherTables(database: D1Database, name: string): Promise<void> {
  const tables = tablesIn(await readSchema(database)).filter((table) => table !== 'd1_migrations');
  if (tables.length === 0 || tables.includes(FIRST_TABLE)) return;
  throw new UserError(
    `the database ${name} has the tables of another application (${tables.slice(0, 3).join(', ')}): is database_name in wrangler.toml misspelt?`,
  );
}
