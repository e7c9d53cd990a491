/** The migrations of a database: the files of migrations/, each applied once. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import {
  DATABASE_BINDING,
  MIGRATIONS_DIRECTORY,
  PROJECT_DIRECTORY,
  UserError,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import { patiently } from './patiently.ts';

/** The separator that drizzle-kit writes between the statements of a migration. */
const BREAKPOINT = '--> statement-breakpoint';

/** Returns the names of the migrations that are not applied to the database yet. */
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

/** The error of a local database that another program has locked for a moment. The migration is rolled back. */
const BUSY = /SQLITE_BUSY|database is locked/;
const ATTEMPTS = 4;

/** Runs wrangler's migration command, which records what it applies. Throws a `UserError` when it fails. */
export function applyMigrations(side: 'local', attempt = 1): void {
  const args = wranglerCommand('d1', 'migrations', 'apply', DATABASE_BINDING, `--${side}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (status === 0) return;
  if (attempt < ATTEMPTS && BUSY.test(`${stdout}${stderr}`)) {
    applyMigrations(side, attempt + 1);
    return;
  }
  throw new UserError(`the migrations failed\n${stdout ?? ''}${stderr ?? ''}`.trimEnd());
}

/** Applies all migrations to an empty database, without wrangler's record of them: for databases in memory. */
export async function migrateInMemory(database: D1Database): Promise<void> {
  for (const name of migrationNames()) {
    const statements = readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8').split(BREAKPOINT);
    await database.batch(statements.map((statement) => database.prepare(statement)));
  }
}

/** Returns the names of all migrations, in the order in which they are applied. */
export function migrationNames(): string[] {
  return readdirSync(MIGRATIONS_DIRECTORY)
    .filter((name) => name.endsWith('.sql'))
    .sort();
}
