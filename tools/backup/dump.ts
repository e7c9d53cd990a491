/**
 * Writes a database to a file of SQL, one row per line. `restore` and the sqlite3 program read it.
 *
 *     -- backup of DATABASE at 2026-11-21T12:00:00.000Z
 *     CREATE TABLE ...;
 *     INSERT INTO "events" (...) VALUES (...);
 *     -- end {"events":2} 5f0c…
 *
 * The last line contains the number of rows per table and the SHA-256 hash of all other lines.
 */

import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { describeError, UserError } from '../command-line/user-error.ts';
import { IDENTITY } from '../database/identity.ts';
import { wrapSqlite } from '../database/local.ts';
import {
  countRows,
  readColumns,
  readPages,
  readSchema,
  type SqlValue,
} from '../database/tables.ts';

const HEAD = '-- backup of ';
const END = /^-- end (\{.*\}) ([0-9a-f]{64})\n$/;
/**
 * The only statements that a backup may contain. Others are rejected, because its text is executed.
 */
const STATEMENT = /^(CREATE TABLE|CREATE (UNIQUE )?INDEX|INSERT INTO) /;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a string
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Writes a database to a file. Events that are accepted in the meantime are left out. If an import,
 * a restore or Time Travel changes the database in the meantime, starts again.
 */
export async function dump(
  database: D1Database,
  name: string,
  file: string,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<void> {
  let stateBefore: string;
  do {
    stateBefore = await readState(database);
    await writeAll(database, name, file, onProgress);
  } while ((await readState(database)) !== stateBefore);
}

/** Reads values that change with every import, restore and Time Travel. */
async function readState(database: D1Database): Promise<string> {
  const statement = database.prepare(
    `SELECT generation, (SELECT import_id FROM import_staging WHERE kind = 'applied') AS last_import
     FROM ${IDENTITY}`,
  );
  return JSON.stringify(await statement.first());
}

async function writeAll(
  database: D1Database,
  name: string,
  file: string,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  writeFileSync(file, '', { mode: 0o600 });
  const hash = createHash('sha256');
  const write = (line: string) => {
    hash.update(`${line}\n`);
    appendFileSync(file, `${line}\n`);
  };
  write(`${HEAD}${name} at ${new Date().toISOString()}`);
  const schema = await readSchema(database);
  for (const { sql } of schema) write(`${sql};`);
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => name);
  const total = sum(await countRows(database, tables));
  const counts: Record<string, number> = {};
  let done = 0;
  for (const table of tables) {
    counts[table] = 0;
    for await (const lines of readInserts(database, table)) {
      write(lines.join('\n'));
      counts[table] += lines.length;
      done += lines.length;
      onProgress(done, total);
    }
  }
  write(`-- end ${JSON.stringify(counts)} ${hash.copy().digest('hex')}`);
}

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** Yields the INSERT statements of a table, page by page. */
async function* readInserts(database: D1Database, table: string): AsyncGenerator<string[]> {
  const columns = await readColumns(database, table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  for await (const page of readPages(database, table, columns)) {
    if (page.length === 0) continue;
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

/**
 * Loads a backup into a scratch database, which the caller must dispose of. Throws a `UserError` if
 * the backup is incomplete or was altered.
 */
export async function loadDump(file: string, folder: string) {
  const sqlite = new DatabaseSync(join(folder, 'scratch.sqlite'));
  try {
    const { title, counts, sum: checksum } = await executeFile(sqlite, file);
    const scratch = wrapSqlite(sqlite);
    const loadedCounts = await countRows(scratch, Object.keys(counts));
    const differingTable = Object.keys(counts).find(
      (table) => loadedCounts[table] !== counts[table],
    );
    if (differingTable !== undefined) {
      throw new Error(
        `the table ${differingTable} does not have as many rows as the last line states`,
      );
    }
    return {
      title,
      sum: checksum,
      rows: sum(counts),
      scratch,
      [Symbol.dispose]: () => sqlite.close(),
    };
  } catch (error) {
    sqlite.close();
    const message = describeError(error);
    throw new UserError(message.includes(file) ? message : `${file} cannot be loaded: ${message}`);
  }
}

/**
 * Executes the statements of a backup. Returns the title from its first line, and the row counts
 * and the checksum from its last line.
 */
async function executeFile(sqlite: DatabaseSync, file: string) {
  sqlite.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  const hash = createHash('sha256');
  let title: string | undefined;
  let last = '';
  let statement = '';
  for await (const line of (await open(file)).readLines()) {
    if (title === undefined) {
      if (!line.startsWith(HEAD)) break;
      title = line.slice(HEAD.length);
    } else {
      hash.update(last);
      statement += `${line}\n`;
    }
    last = `${line}\n`;
    if (!statement.endsWith(';\n')) continue;
    execute(sqlite, statement.trimEnd());
    statement = '';
  }
  if (title === undefined) throw new UserError(`${file} is not a backup`);
  const [, counts, sum] = END.exec(statement) ?? [];
  if (counts === undefined) throw new UserError(`${file} is cut short, or has data after its end`);
  if (sum === undefined || sum !== hash.digest('hex'))
    throw new UserError(`${file} was altered or is damaged`);
  sqlite.exec('COMMIT');
  return { title, counts: z.record(z.string(), z.int()).parse(JSON.parse(counts)), sum };
}

/** Executes a single statement. Throws if the string contains more, which SQLite would ignore. */
function execute(sqlite: DatabaseSync, text: string): void {
  const statement = STATEMENT.test(text) ? sqlite.prepare(text) : undefined;
  if (statement?.sourceSQL === text) return void statement.run();
  const start = text.slice(0, 40);
  throw new Error(
    `its line \`${start}\` is not a single CREATE TABLE, CREATE INDEX or INSERT statement`,
  );
}
