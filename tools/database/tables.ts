/** Reads any table, and splits rows into the portions that D1 takes. */

import * as z from 'zod';

/** D1 takes at most 2 MB in one value. A larger row is a batch by itself. */
const ROWS_PER_BATCH = 100;
const BYTES_PER_BATCH = 1_000_000;
/** A page has as many rows as the average row of the page before allows. */
const BYTES_PER_PAGE = 2_000_000;
const FIRST_PAGE_ROWS = 10;
const MAX_PAGE_ROWS = 1_000;

const sqlValue = z.union([z.string(), z.number(), z.null()]);
export type SqlValue = z.infer<typeof sqlValue>;

const pageRows = z.array(z.object({ rowid: z.int() }).catchall(sqlValue));
type Row = z.infer<typeof pageRows>[number];

/** Reads the statements, tables first, without the internal tables of D1 and SQLite. */
export async function readSchema(database: D1Database) {
  const statement = database.prepare(
    `SELECT type, name, sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'
     ORDER BY type = 'index', name`,
  );
  return (await statement.all<{ type: string; name: string; sql: string }>()).results;
}

export async function readTables(database: D1Database): Promise<string[]> {
  const schema = await readSchema(database);
  return schema.filter(({ type }) => type === 'table').map(({ name }) => name);
}

/** Reads the names of the written columns: `rowid` first, and no computed column. */
export async function readColumns(database: D1Database, table: string): Promise<string[]> {
  const columns = 'SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0';
  const { results } = await database.prepare(columns).bind(table).all<{ name: string }>();
  return ['rowid', ...results.map(({ name }) => name)];
}

export async function hasRows(database: D1Database, table: string): Promise<boolean> {
  return (await database.prepare(`SELECT 1 AS found FROM "${table}" LIMIT 1`).first()) !== null;
}

/** Reads a table in pages by `rowid`. Rows that are added meanwhile are left out. */
export async function* readPages(
  database: D1Database,
  table: string,
  columns: readonly string[],
): AsyncGenerator<Row[]> {
  const selected = columns.map((column) => `"${column}" AS "${column}"`);
  const page = database.prepare(
    `SELECT ${selected} FROM "${table}" WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?`,
  );
  const last = await database.prepare(`SELECT max(rowid) AS last FROM "${table}"`).first('last');
  let after: number | undefined = Number.MIN_SAFE_INTEGER;
  let size = FIRST_PAGE_ROWS;
  while (after !== undefined) {
    const { results } = await page.bind(after, last, size).all();
    const rows = pageRows.parse(results);
    yield rows;
    after = rows.length < size ? undefined : rows.at(-1)?.rowid;
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    const fitting = Math.floor((BYTES_PER_PAGE * rows.length) / bytes);
    size = Math.max(1, Math.min(MAX_PAGE_ROWS, fitting));
  }
}

export function rowBytes(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + String(value).length, 0);
}

export function* splitIntoBatches<T>(
  rows: Iterable<T>,
  approximateBytes: (row: T) => number,
): Generator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = approximateBytes(row);
    if (batch.length === ROWS_PER_BATCH || (batch.length > 0 && bytes + size > BYTES_PER_BATCH)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
