/** Reads and replaces a database's identity, and recognises an unfinished restore. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import { readTables } from './tables.ts';

export const IDENTITY = 'database_identity';
/** Prefix of table names until a restore is finished. */
export const RESTORING = 'restoring_';

/** Returns a database's lineage, which its backups and restored copies share. */
export async function readLineage(database: D1Database): Promise<string> {
  const lineage = database.prepare(`SELECT lineage FROM ${IDENTITY}`);
  return z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .parse(await lineage.first('lineage'));
}

/** Prepares a statement that begins a new generation. The service then rejects older cursors. */
export function beginGeneration(
  database: D1Database,
  lineage: string,
  generation = randomBytes(16).toString('hex'),
): D1PreparedStatement {
  return database
    .prepare(`INSERT OR REPLACE INTO ${IDENTITY} (lineage, generation) VALUES (?, ?)`)
    .bind(lineage, generation);
}

/**
 * Returns the state of a database. Throws a `UserError` if its tables belong to another
 * application.
 */
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

/**
 * Returns the state of a database. Throws a `UserError` if a restore is unfinished, or if the
 * tables belong to another application.
 */
export async function rejectUnfinished(database: D1Database): Promise<'empty' | 'whole'> {
  const state = await readState(database);
  if (state !== 'unfinished') return state;
  throw new UserError('a restore of this database is not finished. Run `npm run restore` again.');
}
