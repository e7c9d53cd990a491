/**
 * Each migration is applied to a database that the migrations before it made and that every one of
 * its tables was filled in: nothing that stood there may be lost. A new migration is tested without
 * being listed.
 */

import { applyD1Migrations, reset } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import { findNonAdditions } from '../tools/database/migrations.ts';

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

beforeEach(async () => {
  await reset();
});

describe('a migration', () => {
  it.each(env.TEST_MIGRATIONS.map((migration, index) => ({ migration, index })))(
    '$migration.name loses nothing of a database that was in use',
    async ({ migration, index }) => {
      const earlier = env.TEST_MIGRATIONS.slice(0, index);
      await applyD1Migrations(env.DB, earlier);
      await fill();
      const before = await contents();
      await applyD1Migrations(env.DB, [...earlier, migration]);
      expect(await contents()).toMatchObject(before);
      expect((await tableNames()).length).toBeGreaterThan(0);
    },
  );
});

describe('the check of migrations', () => {
  it.each([
    'CREATE TABLE a (id text);\n--> statement-breakpoint\nCREATE INDEX b ON a (id);',
    'ALTER TABLE a ADD COLUMN b text',
    "ALTER TABLE a ADD b text DEFAULT 'x' NOT NULL",
    "CREATE TABLE `update` (`delete` text DEFAULT 'a; DROP TABLE a');",
    'CREATE TABLE a (b text REFERENCES c(id) ON UPDATE no action ON DELETE no action);',
    "/* no UPDATE; here */ ALTER TABLE a ADD `rename` text; -- it's; one",
    'CREATE TABLE a (id text);--> statement-breakpoint\nCREATE UNIQUE INDEX b ON a (id);',
    "INSERT INTO a (b) VALUES ('c');",
    "INSERT INTO a (b) VALUES ('on conflict do update') ON CONFLICT DO NOTHING;",
  ])('lets %j pass', (sql) => {
    expect(findNonAdditions(sql)).toEqual([]);
  });

  it.each([
    'DROP TABLE a',
    'DROP INDEX b',
    'ALTER TABLE a DROP `table_b`',
    'ALTER TABLE a ADD `b` text NOT NULL',
    'ALTER TABLE a RENAME TO b',
    'ALTER TABLE a RENAME COLUMN b TO c',
    'UPDATE a SET b = 1',
    'DELETE FROM a',
    'REPLACE INTO a (b) VALUES (1)',
    'INSERT OR REPLACE INTO a (b) VALUES (1)',
    "INSERT INTO a (b) SELECT '' FROM a WHERE true ON CONFLICT (b) DO UPDATE SET payload = ''",
    'CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1',
    'PRAGMA foreign_keys=OFF',
    'CREATE UNIQUE INDEX `b` ON `a` (`id`)',
    'CREATE UNIQUE INDEX b ON"a"(id)',
  ])('finds %j among other statements', (statement) => {
    const added = 'CREATE TABLE c (id text)';
    const sql = `${added}\n--> statement-breakpoint\n${statement.replace(' ', '\n')};\n${added};`;
    expect(findNonAdditions(sql)).toEqual([statement]);
  });
});
