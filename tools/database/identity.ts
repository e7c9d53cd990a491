/** The lineage and the generation of a database, and how an unfinished restore is recognised. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import { readTables } from './tables.ts';

export const IDENTITY = 'database_identity';
/** Prefix of the names of tables until their restore is finished. */
export const RESTORING = 'restoring_';

/** Returns the lineage, which a database shares with its backups and their restored copies. */
export async function readLineage(database: D1Database): Promise<string> {
  const lineage = database.prepare(`SELECT lineage FROM ${IDENTITY}`);
  return z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .parse(await lineage.first('lineage'));
}

/** Prepares the statement that begins a new generation, so that earlier cursors are rejected. */
export function beginGeneration(
  database: D1Database,
  lineage: string,
  generation = randomBytes(16).toString('hex'),
): D1PreparedStatement {
  return database
    .prepare(`INSERT OR REPLACE INTO ${IDENTITY} (lineage, generation) VALUES (?, ?)`)
    .bind(lineage, generation);
}

/** Returns the state of a database. Throws a `UserError` for another application's tables. */
export async function readState(database: D1Database): Promise<'empty' | 'unfinished' | 'whole'> {
  const tables = (await readTables(database)).filter((table) => table !== 'd1_migrations');
  if (tables.length === 0) return 'empty';
  if (tables.some((table) => table.startsWith(RESTORING))) return 'unfinished';
  if (tables.includes(IDENTITY)) return 'whole';
  const names = tables.slice(0, 3).join(', ');
  throw new UserError(
    `the database has the tables of another application (${names}): is database_name in wrangler.toml misspelt?`,
  );
}

/** Returns the state. Throws a `UserError` for another application's tables, or after an interrupted restore. */
export async function rejectUnfinished(database: D1Database): Promise<'empty' | 'whole'> {
  const state = await readState(database);
  if (state !== 'unfinished') return state;
  throw new UserError('a restore of this database is not finished: run `npm run restore` again');
}
