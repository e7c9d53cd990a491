/** Runs programs that check the complete project, such as Biome and TypeScript. They run concurrently. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from 'drizzle-kit/api';
import { describe, expect, it } from 'vitest';
import { listMigrations } from '../tools/database/migrations.ts';

describe('the project', () => {
  it.concurrent.each([
    ['formatting and code style', 'biome', ['ci', '--colors=off', '--error-on-warnings', '.']],
    ['generated types of the bindings', 'npm', ['run', '-s', 'types', '--', '--check']],
    // A second checker would repeat much of the first one's work.
    ['types', 'tsc', ['--checkers', '1']],
  ])('has correct %s', async (_name, program, args) => {
    const options = { maxBuffer: Number.POSITIVE_INFINITY };
    await promisify(execFile)(program, args, options).catch(({ message, stdout }) => {
      // The message ends with the standard error output.
      expect.fail(`${stdout}\n${message}`);
    });
  });
});

describe('the migrations', () => {
  // If this test fails, `npm run migration` creates the missing migration.
  it('create the tables of the schema', async () => {
    const number = listMigrations().at(-1)?.slice(0, 4);
    const snapshot = JSON.parse(readFileSync(`migrations/meta/${number}_snapshot.json`, 'utf8'));
    const files = import.meta.glob<object>('../src/*/table.ts', { eager: true });
    const tables = Object.assign({}, ...Object.values(files));
    const missing = await generateSQLiteMigration(
      snapshot,
      await generateSQLiteDrizzleJson(tables),
    );
    expect(missing).toEqual([]);
  });
});
