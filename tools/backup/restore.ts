/**
 * Brings an empty database into the state of a backup.
 *
 *     requireRestorable   no rows, or the rows of an interrupted restore
 *     restore             (a) apply the ledger to the scratch copy: no erased payload is sent
 *                         (b) drop the tables, and make those of the backup, in one transaction
 *                         (c) copy the rows in batches
 *                         (d) write the identity
 *
 * Interrupted between (b) and (d), it leaves a database without an identity, and the next restore
 * starts from the beginning.
 */

import { UserError } from '../command-line/user-error.ts';
import { beginGeneration, IDENTITY, readLineage, readState } from '../database/identity.ts';
import {
  hasRows,
  readColumns,
  readPages,
  readSchema,
  readTables,
  rowBytes,
  splitIntoBatches,
} from '../database/tables.ts';
import { applyLedger, type Erasure } from '../erasure/ledger.ts';

const TABLES_FILLED_AT_CREATION = ['d1_migrations', IDENTITY];

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

/** Returns the number of events that were erased. */
export async function restore(
  target: D1Database,
  scratch: D1Database,
  ledger: readonly Erasure[],
): Promise<number> {
  const lineage = await readLineage(scratch);
  const erased = await applyLedger(scratch, lineage, ledger);
  const tables = await readTables(scratch);
  const statements = [
    // It may be repeated, so it also drops the tables that it makes.
    ...[...(await readTables(target)), ...tables].map((table) => `DROP TABLE IF EXISTS "${table}"`),
    ...(await readSchema(scratch)).map(({ sql }) => sql),
  ];
  await target.batch(statements.map((sql) => target.prepare(sql)));
  for (const table of tables) {
    if (table !== IDENTITY) await copy(scratch, target, table);
  }
  await beginGeneration(target, lineage);
  return erased;
}

/** A batch may be repeated, because rows are written under their `rowid`. */
async function copy(scratch: D1Database, target: D1Database, table: string): Promise<void> {
  const columns = await readColumns(scratch, table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const places = columns.map(() => '?').join(', ');
  const insert = target.prepare(`INSERT OR REPLACE INTO "${table}" (${names}) VALUES (${places})`);
  for await (const page of readPages(scratch, table, columns)) {
    for (const batch of splitIntoBatches(page, rowBytes)) {
      await target.batch(batch.map((row) => insert.bind(...columns.map((name) => row[name]))));
    }
  }
}
