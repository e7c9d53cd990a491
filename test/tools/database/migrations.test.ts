/**
 * Tests that migrations only add to the schema, so that stored rows survive and the previous
 * version still works.
 */

import { describe, expect, it } from 'vitest';
import { findNonAdditions, requireAdditions } from '../../../tools/database/migrations.ts';

describe('check of migrations', () => {
  it("accepts the project's migrations", () => {
    expect(requireAdditions).not.toThrow();
  });

  it.each([
    'CREATE TABLE a (id text);\n--> statement-breakpoint\nCREATE INDEX b ON a (id);',
    "ALTER TABLE a ADD b text DEFAULT 'x' NOT NULL",
    "CREATE TABLE `update` (`delete` text DEFAULT 'a; DROP TABLE a');",
    'CREATE TABLE a (b text REFERENCES c(id) ON UPDATE no action ON DELETE no action);',
    "/* no UPDATE; here */ ALTER TABLE a ADD `rename` text; -- it's; one",
    'CREATE TABLE a (id text);--> statement-breakpoint\nCREATE UNIQUE INDEX b ON a (id);',
    "INSERT INTO a (b) VALUES ('c');",
    "INSERT INTO a (b) VALUES ('on conflict do update') ON CONFLICT DO NOTHING;",
  ])('accepts %j', (sql) => {
    expect(findNonAdditions(sql)).toEqual([]);
  });

  it.each([
    'DROP TABLE a',
    'DROP INDEX b',
    'ALTER TABLE a DROP `table_b`',
    'ALTER TABLE a ADD `b` text NOT NULL',
    'ALTER TABLE a RENAME TO b',
    'UPDATE a SET b = 1',
    'DELETE FROM a',
    'INSERT OR REPLACE INTO a (b) VALUES (1)',
    "INSERT INTO a (b) SELECT '' FROM a WHERE true ON CONFLICT (b) DO UPDATE SET payload = ''",
    'CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1',
    'CREATE UNIQUE INDEX `b` ON `a` (`id`)',
    'CREATE UNIQUE INDEX b ON"a"(id)',
  ])('rejects %j among other statements', (statement) => {
    const added = 'CREATE TABLE c (id text)';
    const sql = `${added}\n--> statement-breakpoint\n${statement.replace(' ', '\n')};\n${added};`;
    expect(findNonAdditions(sql)).toEqual([statement]);
  });
});
