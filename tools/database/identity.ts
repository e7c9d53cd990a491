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
