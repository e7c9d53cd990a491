/** Reads the schema of a database, for backups and restores. */

import * as z from 'zod';
import { patiently } from './patiently.ts';

const schemaStatement = z.object({ type: z.string(), name: z.string(), sql: z.string() });

/** The statement that makes a table or an index. */
export type SchemaStatement = z.infer<typeof schemaStatement>;

/** Reads the statements, tables before indexes. The internal tables of D1 and SQLite are left out. */
export async function readSchema(database: D1Database): Promise<SchemaStatement[]> {
  const statement = database.prepare(
    `SELECT type, name, sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'
     ORDER BY type = 'index', name`,
  );
  return z.array(schemaStatement).parse((await patiently(() => statement.all())).results);
}

/** Returns the names of the tables. */
export function tablesIn(schema: readonly SchemaStatement[]): string[] {
  return schema.filter(({ type }) => type === 'table').map(({ name }) => name);
}

/** Reads the names of the columns that a row is written with: all but computed columns. */
export async function writtenColumns(database: D1Database, table: string): Promise<string[]> {
  const statement = database
    .prepare('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .bind(table);
  const { results } = await patiently(() => statement.all());
  return z
    .array(z.object({ name: z.string() }))
    .parse(results)
    .map(({ name }) => name);
}

/** Reports whether the key of a table is an integer: such a key is the `rowid` itself. */
export async function hasIntegerKey(database: D1Database, table: string): Promise<boolean> {
  const statement = database
    .prepare(
      `SELECT count(*) AS keys FROM pragma_table_info(?) WHERE pk > 0 AND lower(type) = 'integer'`,
    )
    .bind(table);
  return (await patiently(() => statement.first<number>('keys'))) === 1;
}
