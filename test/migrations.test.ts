/**
 * Each migration is applied to a database that the migrations before it made and that every one of
 * its tables was filled in: nothing that stood there may be lost. A new migration is tested without
 * being listed.
 */

import { applyD1Migrations, type D1Migration, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import { faultsOfMigration } from '../tools/database/migration-rules.ts';

type Row = Readonly<Record<string, unknown>>;
type Contents = Readonly<Record<string, readonly Row[]>>;

const ROWS_PER_TABLE = 3;

async function query(sql: string, ...values: unknown[]): Promise<Row[]> {
  const { results } = await env.DB.prepare(sql)
    .bind(...values)
    .all<Row>();
  return results;
}

async function tableNames(): Promise<string[]> {
  const rows = await query(
    `SELECT name FROM sqlite_master WHERE type = 'table'
     AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations'
     ORDER BY name`,
  );
  return rows.map(({ name }) => String(name));
}

/** Fills every table. No two values of a column are equal, and every text is JSON. */
async function fill(): Promise<void> {
  for (const table of await tableNames()) {
    const columns = await query('SELECT name, type, "notnull" FROM pragma_table_info(?)', table);
    for (let row = 1; row <= ROWS_PER_TABLE; row += 1) {
      const values = columns.map(({ name, type, notnull }) => {
        if (row === ROWS_PER_TABLE && notnull === 0) return null;
        return /INT|REAL|NUM/i.test(String(type)) ? row : JSON.stringify({ [String(name)]: row });
      });
      const names = columns.map(({ name }) => `"${String(name)}"`).join(', ');
      const places = columns.map(() => '?').join(', ');
      await query(`INSERT INTO "${table}" (${names}) VALUES (${places})`, ...values);
    }
  }
}

async function contents(): Promise<Contents> {
  const tables = await tableNames();
  const rows = tables.map((table) => query(`SELECT * FROM "${table}" ORDER BY rowid`));
  return Object.fromEntries(
    (await Promise.all(rows)).map((found, index) => [tables[index] ?? '', found]),
  );
}

/** Returns the tables, rows and values that `before` holds and `after` lacks. */
function losses(before: Contents, after: Contents): string[] {
  return Object.entries(before).flatMap(([table, rows]) => {
    const now = after[table];
    if (now === undefined) return [`table ${table}`];
    if (now.length !== rows.length) return [`rows of ${table}`];
    const columns = Object.keys(rows[0] ?? {});
    return columns
      .filter((column) => rows.some((row, index) => row[column] !== now[index]?.[column]))
      .map((column) => `${table}.${column}`);
  });
}

/** Applies `migration` to a filled database of the `earlier` migrations. Returns the losses. */
async function lossesOf(migration: D1Migration, earlier: D1Migration[]): Promise<string[]> {
  await applyD1Migrations(env.DB, earlier);
  await fill();
  const before = await contents();
  await applyD1Migrations(env.DB, [...earlier, migration]);
  return losses(before, await contents());
}

beforeEach(async () => {
  await reset();
});

describe('a migration', () => {
  it.each(env.TEST_MIGRATIONS.map((migration, index) => ({ migration, index })))(
    '$migration.name loses nothing of a database that was in use',
    async ({ migration, index }) => {
      expect(await lossesOf(migration, env.TEST_MIGRATIONS.slice(0, index))).toEqual([]);
      expect((await tableNames()).length).toBeGreaterThan(0);
    },
  );

  it.each<[string, string[], string[]]>([
    ['drops a column', ['ALTER TABLE homes DROP COLUMN name'], ['homes.name']],
    ['deletes rows', ['DELETE FROM homes WHERE id = 1'], ['rows of homes']],
    ['overwrites values', ["UPDATE homes SET name = 'x'"], ['homes.name']],
  ])('that %s: its losses are found', async (name, queries, expected) => {
    const earlier = [
      {
        name: '0000_tables',
        queries: ['CREATE TABLE homes (id INTEGER PRIMARY KEY, name TEXT)'],
      },
    ];
    expect(await lossesOf({ name, queries }, earlier)).toEqual(expected);
  });
});

describe('the check of migrations', () => {
  it.each([
    ['CREATE TABLE a (id text);\n--> statement-breakpoint\nCREATE INDEX b ON a (id);', []],
    ['ALTER TABLE a ADD COLUMN b text;', []],
    ['DROP INDEX b;', ['drops an index']],
    ['ALTER TABLE a DROP `table_b`;', ['drops a column']],
    ["UPDATE a SET b = 'c';", ['overwrites values']],
    ["CREATE TABLE `update` (`delete` text DEFAULT 'DROP TABLE a');", []],
    ['CREATE TABLE a (b text REFERENCES c(id) ON UPDATE no action ON DELETE no action);', []],
    ['/* no UPDATE here */ ALTER TABLE a ADD `rename` text;', []],
    ['CREATE TABLE a (id text);--> statement-breakpoint\nCREATE UNIQUE INDEX b ON a (id);', []],
    [
      'CREATE UNIQUE INDEX `b` ON `a` (`id`);',
      ['makes an existing table refuse rows that it accepted before'],
    ],
    ['drop\n table a;', ['drops a table']],
    ['ALTER TABLE a DROP COLUMN b;', ['drops a column']],
    ['ALTER TABLE a RENAME TO b;', ['renames a table or a column']],
    ['ALTER TABLE a RENAME COLUMN b TO c;', ['renames a table or a column']],
    ['DELETE FROM a;', ['deletes rows']],
    ['CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END;', ['makes a trigger']],
    ['CREATE TABLE a (id text);\r\n', ['has line ends other than LF']],
    [
      'PRAGMA foreign_keys=OFF;--> statement-breakpoint\nCREATE TABLE `__new_a` (id text);--> statement-breakpoint\nDROP TABLE `a`;--> statement-breakpoint\nALTER TABLE `__new_a` RENAME TO `a`;',
      [
        'drops a table',
        'renames a table or a column',
        'sets a pragma, which D1 ignores or refuses',
      ],
    ],
  ])('%j: %j', (sql, expected) => {
    expect(faultsOfMigration(sql)).toEqual(expected);
  });
});
