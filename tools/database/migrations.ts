/** Brings a database into its present shape: the files of migrations/, each applied once. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { patiently } from '../../src/storage/d1.ts';
import {
  DATABASE_BINDING,
  MIGRATIONS_DIRECTORY,
  PROJECT_DIRECTORY,
  UserError,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';

/** What drizzle-kit puts between the statements of a migration. */
const BREAKPOINT = '--> statement-breakpoint';

/** The names of the migrations that the database does not have yet. */
export async function findPendingMigrations(database: D1Database): Promise<string[]> {
  const records = database.prepare(
    `SELECT count(*) AS tables FROM sqlite_schema WHERE name = 'd1_migrations'`,
  );
  const known = await patiently(() => records.first('tables'));
  if (known === 0) return migrationNames();
  const names = database.prepare('SELECT name FROM d1_migrations');
  const { results } = await patiently(() => names.all());
  const applied = new Set(
    z
      .array(z.object({ name: z.string() }))
      .parse(results)
      .map(({ name }) => name),
  );
  return migrationNames().filter((name) => !applied.has(name));
}

/** Runs wrangler's own migration command, which keeps the record of what was applied. */
export function applyMigrations(place: 'local' | 'remote'): void {
  const args = wranglerCommand('d1', 'migrations', 'apply', DATABASE_BINDING, `--${place}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, CI: 'true' },
    stdio: place === 'local' ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    encoding: 'utf8',
  });
  if (status === 0) return;
  throw new UserError(`the migrations failed\n${stdout ?? ''}${stderr ?? ''}`.trimEnd());
}

/** Gives a database in memory its shape; nothing of it is kept. */
export async function migrateInMemory(database: D1Database): Promise<void> {
  for (const name of migrationNames()) {
    const statements = readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8').split(BREAKPOINT);
    await database.batch(statements.map((statement) => database.prepare(statement)));
  }
}

/** The names of all migrations, in the order in which they are applied. */
export function migrationNames(): string[] {
  return readdirSync(MIGRATIONS_DIRECTORY)
    .filter((name) => name.endsWith('.sql'))
    .sort();
}
