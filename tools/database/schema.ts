/** Reads the schema of a database, for backups and restores. */

import * as z from 'zod';

const schemaStatement = z.object({ type: z.string(), name: z.string(), sql: z.string() });

export type SchemaStatement = z.infer<typeof schemaStatement>;

/** The number of rows of each table. */
export type Counts = Readonly<Record<string, number>>;

/** Reads the statements, tables before indexes, without the internal tables of D1 and SQLite. */
export async function readSchema(database: D1Database): Promise<SchemaStatement[]> {
  const statement = database.prepare(
    `SELECT type, name, sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'
     ORDER BY type = 'index', name`,
  );
  return z.array(schemaStatement).parse((await statement.all()).results);
}

export function tablesIn(schema: readonly SchemaStatement[]): string[] {
  return schema.filter(({ type }) => type === 'table').map(({ name }) => name);
}

/** Reads the names of the columns that a row is written with: `rowid` first, and no computed column. */
export async function readColumns(database: D1Database, table: string): Promise<string[]> {
  const statement = database
    .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .bind(table);
  const { results } = await statement.all<{ name: string }>();
  return ['rowid', ...results.map(({ name }) => name)];
}

/** Returns the tables that do not have the expected number of rows. */
export async function findDiffering(database: D1Database, expected: Counts): Promise<string[]> {
  const differing: string[] = [];
  for (const [table, rows] of Object.entries(expected)) {
    const statement = database.prepare(`SELECT count(*) AS n FROM "${table}"`);
    if ((await statement.first('n')) !== rows) differing.push(table);
  }
  return differing;
}
