/** Lineage and generation. `restore` writes them last: without them, it is unfinished. */

import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { formatCommand } from '../command-line/environment.ts';
import type { Target } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { hasRows, readTables } from './tables.ts';

export const IDENTITY = 'database_identity';

const lineage = z.string().regex(/^[0-9a-f]{32}$/);

/** Backups, and databases restored from them, have the same lineage. */
export async function readLineage(database: D1Database): Promise<string> {
  return lineage.parse(await database.prepare(`SELECT lineage FROM ${IDENTITY}`).first('lineage'));
}

/** After a restore or a rewind: earlier cursors are rejected. */
export async function beginGeneration(database: D1Database, lineage: string): Promise<void> {
  await database
    .prepare(`INSERT OR REPLACE INTO ${IDENTITY} (lineage, generation) VALUES (?, ?)`)
    .bind(lineage, randomBytes(16).toString('hex'))
    .run();
}

export async function isUnfinished(database: D1Database): Promise<boolean> {
  const tables = await readTables(database);
  return tables.includes(IDENTITY) && !(await hasRows(database, IDENTITY));
}

export async function rejectUnfinishedRestore(database: D1Database): Promise<void> {
  if (!(await isUnfinished(database))) return;
  throw new UserError('a restore of this database is not finished: run `npm run restore` again');
}

/** As `readLineage`, but throws a `UserError` without tables, and after an interrupted restore. */
export async function requireLineage(
  database: D1Database,
  { kind, environment }: Target,
): Promise<string> {
  await rejectUnfinishedRestore(database);
  if ((await readTables(database)).includes(IDENTITY)) return readLineage(database);
  const command = kind === 'remote' ? formatCommand(environment, 'deploy') : 'npm run dev';
  throw new UserError(`the database has no tables: run \`${command}\` first`);
}

/** Throws a `UserError` if the database has the tables of another application. */
export async function rejectOtherTables(database: D1Database, name: string): Promise<void> {
  const tables = (await readTables(database)).filter((table) => table !== 'd1_migrations');
  if (tables.length === 0 || tables.includes(IDENTITY)) return;
  throw new UserError(
    `the database ${name} has the tables of another application (${tables.slice(0, 3).join(', ')}): is database_name in wrangler.toml misspelt?`,
  );
}
