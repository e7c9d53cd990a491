/**
 * A database as a text of SQL, one row per line, from which `restore` and the sqlite3 program make it again.
 *
 *     -- backup of DATABASE
 *     -- made 2026-11-21T12:00:00.000Z
 *     CREATE TABLE ...;
 *     -- rows
 *     INSERT INTO "events" (...) VALUES (...);
 *     -- end {"events":2} 5f0c…
 *
 * The last line has the number of rows of each table, and the SHA-256 of the lines before it. A file that was cut short
 * lacks this line, or has a wrong one.
 *
 * The database stays in use during a dump. When an import is applied meanwhile, the dump begins again. The dump holds
 * the events that were stored when it began.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import { refuseUnfinishedRestore } from './identity.ts';
import { patiently } from './patiently.ts';
import { hasIntegerKey, readSchema, tablesIn, writtenColumns } from './schema.ts';

export const HEAD = '-- backup of ';
export const MADE = '-- made ';
export const ROWS = '-- rows';
export const END = '-- end ';

const MAX_ATTEMPTS = 5;
/** The approximate size of a page. The number of its rows follows from the average row of the page before. */
const BYTES_PER_PAGE = 2_000_000;
const FIRST_PAGE_ROWS = 10;
const MAX_PAGE_ROWS = 500;

const sqlValue = z.union([z.string(), z.number(), z.null()]);
export type SqlValue = z.infer<typeof sqlValue>;

export type Counts = Readonly<Record<string, number>>;

/** Writes the dump, line by line. Returns the number of rows of each table. Throws when the store fails. */
export async function dump(
  database: D1Database,
  name: string,
  begin: () => { write: (line: string) => void },
): Promise<Counts> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await lastImport(database);
    const { write } = begin();
    const hash = createHash('sha256');
    const counts = await writeAll(database, name, (line) => {
      hash.update(`${line}\n`);
      write(line);
    });
    if ((await lastImport(database)) === before) {
      write(`${END}${JSON.stringify(counts)} ${hash.digest('hex')}`);
      return counts;
    }
    if (attempt === MAX_ATTEMPTS) {
      throw new UserError('listings were imported again and again during the backup');
    }
  }
}

async function writeAll(
  database: D1Database,
  name: string,
  write: (line: string) => void,
): Promise<Counts> {
  await refuseUnfinishedRestore(database);
  const schema = await readSchema(database);
  write(`${HEAD}${name}`);
  write(`${MADE}${new Date().toISOString()}`);
  for (const { sql } of schema) write(`${sql};`);
  write(ROWS);
  const counts: Record<string, number> = {};
  for (const table of tablesIn(schema)) counts[table] = await writeTable(database, table, write);
  return counts;
}

/** Reads pages in the order of `rowid`, which every table here has, so that no page repeats or misses a row. */
async function writeTable(
  database: D1Database,
  table: string,
  write: (line: string) => void,
): Promise<number> {
  const columns = await writtenColumns(database, table);
  const list = columns.map((column) => `"${column}"`).join(', ');
  const names = (await hasIntegerKey(database, table)) ? list : `rowid, ${list}`;
  const last = await patiently(() =>
    database.prepare(`SELECT max(rowid) AS last FROM "${table}"`).first<number>('last'),
  );
  let written = 0;
  let after = Number.MIN_SAFE_INTEGER;
  let size = FIRST_PAGE_ROWS;
  while (last !== null && after < last) {
    const page = database
      .prepare(
        `SELECT rowid AS "_rowid_", ${list} FROM "${table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
      )
      .bind(after, last, size);
    const { results } = await patiently(() => page.all());
    if (results.length === 0) break;
    let bytes = 0;
    for (const row of results) {
      const rowid = z.int().parse(row._rowid_);
      const values: SqlValue[] = columns.map((column) => sqlValue.parse(row[column]));
      const own = names === list ? values : [rowid, ...values];
      write(`INSERT INTO "${table}" (${names}) VALUES (${own.map(sqlLiteral).join(', ')});`);
      after = rowid;
      bytes += rowSize(values);
    }
    const fitting = Math.floor((BYTES_PER_PAGE * results.length) / bytes);
    size = Math.max(1, Math.min(MAX_PAGE_ROWS, fitting));
    written += results.length;
  }
  return written;
}

async function lastImport(database: D1Database): Promise<string | null> {
  const { results } = await patiently(() =>
    database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'import_staging'`).all(),
  );
  if (results.length === 0) return null;
  const applied = database.prepare(`SELECT import_id FROM import_staging WHERE kind = 'applied'`);
  return patiently(() => applied.first<string>('import_id'));
}

/**
 * Writes a value as SQL. A text with control characters or Unicode's line separators is written in hexadecimal, because
 * these may end a line for a reader of the file, or a text for SQLite.
 */
function sqlLiteral(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a text
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value)) {
    return `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)`;
  }
  return `'${value.replaceAll("'", "''")}'`;
}

/** Returns about how many bytes a row takes. */
export function rowSize(values: readonly SqlValue[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}
