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
 * The last line has the number of rows of each table, and the SHA-256 of the lines before it.
 */

import { createHash } from 'node:crypto';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import { rejectUnfinishedRestore } from './identity.ts';
import { type Counts, readColumns, readSchema, tablesIn } from './schema.ts';

export const HEAD = '-- backup of ';
export const MADE = '-- made ';
export const ROWS = '-- rows';
export const END = '-- end ';

const MAX_ATTEMPTS = 5;
/** The number of rows in a page follows from the average row of the page before. */
const BYTES_PER_PAGE = 2_000_000;
const FIRST_PAGE_ROWS = 10;
const MAX_PAGE_ROWS = 500;

const sqlValue = z.union([z.string(), z.number(), z.null()]);
export type SqlValue = z.infer<typeof sqlValue>;

/**
 * Writes the dump while the database stays in use. It has the events that were stored when it began, and it starts
 * again if an import was applied meanwhile. Returns the number of rows of each table.
 */
export async function dump(database: D1Database, name: string, file: string): Promise<Counts> {
  await rejectUnfinishedRestore(database);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const before = await findLastImport(database);
    const counts = await writeAll(database, name, file);
    if ((await findLastImport(database)) === before) return counts;
  }
  throw new UserError('listings were imported again and again during the backup');
}

async function writeAll(database: D1Database, name: string, file: string): Promise<Counts> {
  const descriptor = openSync(file, 'w', 0o600);
  const hash = createHash('sha256');
  const write = (line: string) => {
    hash.update(`${line}\n`);
    appendFileSync(descriptor, `${line}\n`);
  };
  try {
    const schema = await readSchema(database);
    write(`${HEAD}${name}`);
    write(`${MADE}${new Date().toISOString()}`);
    for (const { sql } of schema) write(`${sql};`);
    write(ROWS);
    const counts: Record<string, number> = {};
    for (const table of tablesIn(schema)) counts[table] = await writeTable(database, table, write);
    write(`${END}${JSON.stringify(counts)} ${hash.copy().digest('hex')}`);
    return counts;
  } finally {
    closeSync(descriptor);
  }
}

/** Reads pages in the order of `rowid`, which every table here has, so that no page repeats or misses a row. */
async function writeTable(
  database: D1Database,
  table: string,
  write: (line: string) => void,
): Promise<number> {
  const columns = await readColumns(database, table);
  const names = columns.map((column) => `"${column}"`).join(', ');
  const selected = columns.map((column) => `"${column}" AS "${column}"`).join(', ');
  const newest = database.prepare(`SELECT max(rowid) AS last FROM "${table}"`);
  const last = await newest.first<number>('last');
  let written = 0;
  let after = Number.MIN_SAFE_INTEGER;
  let size = FIRST_PAGE_ROWS;
  while (last !== null && after < last) {
    const page = database
      .prepare(
        `SELECT ${selected} FROM "${table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
      )
      .bind(after, last, size);
    const { results } = await page.all();
    if (results.length === 0) break;
    let bytes = 0;
    for (const row of results) {
      const values = columns.map((column) => sqlValue.parse(row[column]));
      write(`INSERT INTO "${table}" (${names}) VALUES (${values.map(sqlLiteral).join(', ')});`);
      after = z.int().parse(row.rowid);
      bytes += rowSize(values);
    }
    const fitting = Math.floor((BYTES_PER_PAGE * results.length) / bytes);
    size = Math.max(1, Math.min(MAX_PAGE_ROWS, fitting));
    written += results.length;
  }
  return written;
}

function findLastImport(database: D1Database): Promise<string | null> {
  const applied = database.prepare(`SELECT import_id FROM import_staging WHERE kind = 'applied'`);
  return applied.first<string>('import_id');
}

/** A text with control characters or Unicode's line separators is in hexadecimal: these may end a line or a text. */
function sqlLiteral(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these would end a line or a text
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(value)) {
    return `CAST(X'${Buffer.from(value).toString('hex')}' AS TEXT)`;
  }
  return `'${value.replaceAll("'", "''")}'`;
}

/** Returns the approximate bytes of a row. */
export function rowSize(values: readonly SqlValue[]): number {
  return values.reduce<number>((sum, value) => sum + String(value).length, 0);
}
