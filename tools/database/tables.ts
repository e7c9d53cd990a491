/** Reads tables in pages, and splits rows into batches. */

import * as z from 'zod';

/** Default size limit of a batch in bytes. D1 accepts at most 2 MB in one value. */
const BYTES_PER_BATCH = 1_000_000;
/** Maximum size of a page in bytes, not counting its last row. */
const BYTES_PER_PAGE = 2_000_000;
const MAX_ROWS_PER_PAGE = 4_000;

const sqlValue = z.union([z.string(), z.number(), z.null()]);
export type SqlValue = z.infer<typeof sqlValue>;

const pageRows = z.array(z.object({ rowid: z.int() }).catchall(sqlValue));
type Row = z.infer<typeof pageRows>[number];

/** Selects the service's tables and indexes, but not the internal ones of D1 and SQLite. */
export const SERVICE_SCHEMA = String.raw`FROM sqlite_schema WHERE sql IS NOT NULL
  AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE '\_cf\_%' ESCAPE '\'`;

/** Reads the statements that created the tables and indexes. Tables come first. */
export async function readSchema(database: D1Database) {
  const statement = database.prepare(
    `SELECT type, name, sql ${SERVICE_SCHEMA} ORDER BY type = 'index', name`,
  );
  return (await statement.all<Record<'type' | 'name' | 'sql', string>>()).results;
}

export async function readTables(database: D1Database): Promise<string[]> {
  const schema = await readSchema(database);
  return schema.filter(({ type }) => type === 'table').map(({ name }) => name);
}

/** Returns `rowid` and all columns of a table except generated ones, which cannot be written. */
export async function readColumns(database: D1Database, table: string): Promise<string[]> {
  const columns = 'SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0';
  const { results } = await database.prepare(columns).bind(table).all<{ name: string }>();
  return ['rowid', ...results.map(({ name }) => name)];
}

export async function hasRows(database: D1Database, table: string): Promise<boolean> {
  return (await database.prepare(`SELECT 1 FROM "${table}" LIMIT 1`).first()) !== null;
}

/** Reads a table in pages, ordered by `rowid`. Rows that are added in the meantime are left out. */
export async function* readPages(
  database: D1Database,
  table: string,
  columns: readonly string[],
  start = Number.MIN_SAFE_INTEGER,
): AsyncGenerator<Row[]> {
  const selected = columns.map((column) => `"${column}" AS "${column}"`);
  const sizes = columns.map((column) => `coalesce(octet_length(next."${column}"), 0)`);
  // Measures rows one by one until the page is full. SQLite can measure a long value without reading it.
  const page = database.prepare(
    `WITH RECURSIVE measured (id, bytes) AS (
       SELECT ?1, 0
       UNION ALL
       SELECT next.rowid, measured.bytes + ${sizes.join(' + ')}
       FROM measured JOIN "${table}" AS next ON next.rowid = (
         SELECT min(rowid) FROM "${table}" WHERE rowid > measured.id AND rowid <= ?2)
       WHERE measured.bytes < ${BYTES_PER_PAGE}
       LIMIT 1 + ${MAX_ROWS_PER_PAGE})
     SELECT ${selected} FROM "${table}"
     WHERE rowid > ?1 AND rowid <= (SELECT max(id) FROM measured)
     ORDER BY rowid`,
  );
  const selectLast = database.prepare(`SELECT max(rowid) AS last FROM "${table}"`);
  const last = (await selectLast.all<{ last: number | null }>()).results[0]?.last;
  let lastRead: number | undefined = start;
  while (lastRead !== undefined) {
    const rows: Row[] = pageRows.parse((await page.bind(lastRead, last).all()).results);
    yield rows;
    lastRead = rows.at(-1)?.rowid;
    if (lastRead === last) return;
  }
}

/**
 * Splits rows into batches. Each row is JSON, and each batch is a JSON array of rows. A row larger
 * than `maxBytes` gets its own batch.
 */
export async function* splitIntoBatches(
  rows: Iterable<string> | AsyncIterable<string>,
  maxBytes = BYTES_PER_BATCH,
): AsyncGenerator<{ json: string; count: number }> {
  let batch: string[] = [];
  let bytes = 0;
  for await (const row of rows) {
    const size = Buffer.byteLength(row);
    if (batch.length > 0 && bytes + size > maxBytes) {
      yield { json: `[${batch.join()}]`, count: batch.length };
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += size;
  }
  if (batch.length > 0) yield { json: `[${batch.join()}]`, count: batch.length };
}

/** Counts the rows of several tables in one call. */
export async function countRows(
  database: D1Database,
  tables: readonly string[],
): Promise<Record<string, number>> {
  const counts = tables.map((table) => `'${table}', (SELECT count(*) FROM "${table}")`);
  const text = await database.prepare(`SELECT json_object(${counts}) AS counts`).first('counts');
  return z.record(z.string(), z.int()).parse(JSON.parse(String(text)));
}
