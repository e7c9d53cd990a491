/**
 * A database as SQL, one row per line, for `restore` and for the sqlite3 program.
 *
 *     -- backup of DATABASE at 2026-11-21T12:00:00.000Z
 *     CREATE TABLE ...;
 *     INSERT INTO "events" (...) VALUES (...);
 *     -- end {"events":2} 5f0c…
 *
 * The last line counts the rows of each table, and has the SHA-256 of the lines before it.
 */

import { createHash } from 'node:crypto';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { UserError, withPath } from '../command-line/user-error.ts';
import { IDENTITY, rejectUnfinished } from '../database/identity.ts';
import { readColumns, readPages, readSchema, type SqlValue } from '../database/tables.ts';

export const HEAD = '-- backup of ';

const MAX_ATTEMPTS = 5;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a text
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Starts again after an import, a restore or a rewind meanwhile. Later events are left out. */
export async function dump(database: D1Database, name: string, file: string): Promise<void> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const before = await findState(database);
    await writeAll(database, name, file);
    if ((await findState(database)) === before) return;
  }
  throw new UserError('the database was changed by imports again and again during the backup');
}

/** Returns the generation and the last import. Throws a `UserError` during a restore. */
async function findState(database: D1Database): Promise<string> {
  await rejectUnfinished(database);
  const state = database.prepare(
    `SELECT generation, (SELECT import_id FROM import_staging WHERE kind = 'applied') AS last_import
     FROM ${IDENTITY}`,
  );
  return JSON.stringify(await state.first());
}

async function writeAll(database: D1Database, name: string, file: string): Promise<void> {
  const descriptor = openSync(file, 'w', 0o600);
  const hash = createHash('sha256');
  const write = (line: string) => {
    hash.update(`${line}\n`);
    withPath(file, () => appendFileSync(descriptor, `${line}\n`));
  };
  try {
    write(`${HEAD}${name} at ${new Date().toISOString()}`);
    const schema = await readSchema(database);
    for (const { sql } of schema) write(`${sql};`);
    const counts: Record<string, number> = {};
    for (const { type, name: table } of schema) {
      if (type !== 'table') continue;
      counts[table] = 0;
      for await (const rows of readInserts(database, table)) {
        for (const row of rows) write(row);
        counts[table] += rows.length;
      }
    }
    write(`-- end ${JSON.stringify(counts)} ${hash.copy().digest('hex')}`);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the rows of a table in pages, each row as a statement in one line. */
async function* readInserts(database: D1Database, table: string): AsyncGenerator<string[]> {
  const columns = await readColumns(database, table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  for await (const page of readPages(database, table, columns)) {
    yield page.map((row) => {
      const values = columns.map((column) => sqlLiteral(row[column] ?? null));
      return `INSERT INTO "${table}" (${names}) VALUES (${values.join(', ')});`;
    });
  }
}

function sqlLiteral(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (!UNPRINTABLE.test(value)) return `'${value.replaceAll("'", "''")}'`;
  return `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)`;
}
