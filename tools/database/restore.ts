/**
 * Brings an empty database into the state of a backup.
 *
 *     requireRestorable   no rows, or the rows of an interrupted restore
 *     restore             (a) play the ledger on the scratch copy, so that no erased payload is sent
 *                         (b) drop the tables, and make the tables of the backup, in one transaction
 *                         (c) copy the rows in batches, and compare their numbers
 *                         (d) write the identity
 *
 * A restore that is interrupted between (b) and (d) leaves a database without an identity. The next restore starts
 * from the beginning. Nothing else may write to the database meanwhile.
 */

import type { DatabaseSync } from 'node:sqlite';
import { UserError } from '../command-line/user-error.ts';
import { type Erasure, playLedger } from '../erasure/ledger.ts';
import { batchesOf } from './batches.ts';
import { rowSize, type SqlValue } from './dump.ts';
import { type LoadedDump, scratchDatabase } from './dump-file.ts';
import {
  IDENTITY,
  isUnfinished,
  readLineage,
  rejectOtherTables,
  writeIdentity,
} from './identity.ts';
import {
  findDiffering,
  readColumns,
  readSchema,
  type SchemaStatement,
  tablesIn,
} from './schema.ts';

/** Tables that have rows in a new database. */
const NOT_DATA = ['d1_migrations', IDENTITY];

export async function requireRestorable(target: D1Database, name: string): Promise<void> {
  await rejectOtherTables(target, name);
  if (await isUnfinished(target)) return;
  for (const table of tablesIn(await readSchema(target))) {
    if (NOT_DATA.includes(table)) continue;
    const any = target.prepare(`SELECT EXISTS (SELECT 1 FROM "${table}") AS found`);
    if ((await any.first('found')) === 0) continue;
    throw new UserError(`the database holds rows already (in ${table}): it must be empty`);
  }
}

/** Returns the number of events that were erased. */
export async function restore(
  target: D1Database,
  { scratch, counts }: LoadedDump,
  ledger: readonly Erasure[],
): Promise<number> {
  const source = scratchDatabase(scratch);
  const lineage = await readLineage(source);
  const erased = await playLedger(source, lineage, ledger);
  await remake(target, await readSchema(source));
  const { [IDENTITY]: _, ...copied } = counts;
  for (const table of Object.keys(copied)) await copy(scratch, target, table);
  const differing = await findDiffering(target, copied);
  if (differing.length > 0) {
    throw new UserError(`the rows of ${differing.join(', ')} are not as many as in the backup`);
  }
  await writeIdentity(target, lineage);
  return erased;
}

async function remake(target: D1Database, schema: readonly SchemaStatement[]): Promise<void> {
  const dropped = new Set([...tablesIn(await readSchema(target)), ...tablesIn(schema)]);
  const statements = [
    ...[...dropped].map((table) => `DROP TABLE IF EXISTS "${table}"`),
    ...schema.map(({ sql }) => sql),
  ];
  await target.batch(statements.map((sql) => target.prepare(sql)));
}

/** A batch may be repeated, because rows are written under their `rowid`. */
async function copy(scratch: DatabaseSync, target: D1Database, table: string): Promise<void> {
  const columns = await readColumns(scratchDatabase(scratch), table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const places = columns.map(() => '?').join(', ');
  const insert = target.prepare(`INSERT OR REPLACE INTO "${table}" (${names}) VALUES (${places})`);
  const rows = scratch.prepare(`SELECT ${names} FROM "${table}" ORDER BY rowid`);
  rows.setReturnArrays(true);
  const values = rows.iterate() as Iterable<unknown> as Iterable<SqlValue[]>;
  for (const batch of batchesOf(values, rowSize)) {
    await target.batch(batch.map((row) => insert.bind(...row)));
  }
}
