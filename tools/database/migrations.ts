/** Applies each migration in migrations/ to a database once. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCommand } from '../command-line/environment.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import type { Target } from '../command-line/target.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { rejectUnfinished } from './identity.ts';
import { readTables } from './tables.ts';

const FOLDER = join(PROJECT_DIRECTORY, 'migrations');
/** The line that drizzle-kit writes between statements. */
const BREAKPOINT = '--> statement-breakpoint';

const ADDITION =
  /^(create\s+table|create\s+(unique\s+)?index|alter\s+table\s+\S+\s+add|insert\s+into)\b/i;
const TABLE = /^create\s+table\s+(?:if\s+not\s+exists\s+)?[`"[]?(\w+)/i;
/** Matches an INSERT that can change stored rows. */
const UPSERT = /^insert\b.*\bon conflict\b.*\bdo update\b/i;
/**
 * Matches a statement that creates a unique index, because the table may then reject rows that it
 * accepted before.
 */
const UNIQUE_INDEX = /^create\s+unique\s.+?\son\s*[`"[]?(\w+)/i;
/**
 * Matches a statement that adds a required column, because the previous version's INSERT statements
 * do not set it.
 */
const REQUIRED_COLUMN = /^alter table (?!.* (default|generated)\b).* not null\b/i;
const STRING_OR_COMMENT = /'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * Creates the table of applied migrations in wrangler's form, because wrangler writes to it too.
 */
const CREATE_RECORDS = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`;

export async function findPendingMigrations(database: D1Database): Promise<string[]> {
  const appliedNames = await readApplied(database);
  return listMigrations().filter((name) => !appliedNames.includes(name));
}

/**
 * Throws a `UserError` if the database has a migration that the working copy does not have, because
 * older code could break what a newer version of the service relies on.
 */
export async function rejectNewer(database: D1Database): Promise<void> {
  const knownNames = listMigrations();
  const unknownNames = (await readApplied(database)).filter((name) => !knownNames.includes(name));
  if (unknownNames.length === 0) return;
  throw new UserError(
    `this database is newer than your working copy (${unknownNames.join(', ')}). Run \`git pull && npm ci\`.`,
  );
}

/**
 * Throws a `UserError` if a restore is unfinished or a migration is missing. If `mayMigrate` is
 * true, a local database is migrated first.
 */
export async function ensureTables(
  database: D1Database,
  { kind, environment }: Target,
  mayMigrate = false,
): Promise<void> {
  await rejectUnfinished(database);
  if (kind === 'local' && mayMigrate) await migrate(database);
  if ((await findPendingMigrations(database)).length === 0) return;
  const command = kind === 'remote' ? formatCommand(environment, 'deploy') : 'npm run dev';
  throw new UserError(
    `the ${kind} database does not have all migrations. Run \`${command}\` first.`,
  );
}

async function readApplied(database: D1Database): Promise<string[]> {
  if (!(await readTables(database)).includes('d1_migrations')) return [];
  const names = database.prepare('SELECT name FROM d1_migrations');
  const { results } = await names.all<{ name: string }>();
  return results.map(({ name }) => name);
}

export async function migrate(database: D1Database): Promise<void> {
  const pending = await findPendingMigrations(database);
  if (pending.length === 0) return;
  await database.prepare(CREATE_RECORDS).run();
  const record = database.prepare('INSERT INTO d1_migrations (name) VALUES (?)');
  for (const name of pending) {
    const statements = readMigration(name).split(BREAKPOINT);
    const prepared = statements.map((statement) => database.prepare(statement));
    try {
      await database.batch([...prepared, record.bind(name)]);
    } catch (error) {
      // The migration may have been applied although the response was lost.
      if (!(await findPendingMigrations(database)).includes(name)) continue;
      throw new UserError(`the migration ${name} failed: ${describeError(error)}`);
    }
  }
}

export function listMigrations(): string[] {
  return globSync('*.sql', { cwd: FOLDER }).sort();
}

/** Throws a `UserError` if a migration does more than add to the schema. */
export function requireAdditions(): void {
  const problems = listMigrations().flatMap((name) =>
    findNonAdditions(readMigration(name)).map((statement) => `${name} has ${statement}`),
  );
  if (problems.length === 0) return;
  throw new UserError(`a migration does more than add: ${problems.join('; ')}`);
}

/**
 * Returns the statements of a migration that do more than add to the schema, because they could
 * break the previous version.
 */
export function findNonAdditions(sql: string): string[] {
  const statements = sql
    .replaceAll(BREAKPOINT, ';')
    .replaceAll(STRING_OR_COMMENT, (match) => (match.startsWith("'") ? "''" : ' '))
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
  const createdTables = statements.map((statement) => TABLE.exec(statement)?.[1]);
  return statements.filter((statement) => {
    const [, indexedTable] = UNIQUE_INDEX.exec(statement) ?? [];
    if (!ADDITION.test(statement)) return true;
    if (UPSERT.test(statement) || REQUIRED_COLUMN.test(statement)) return true;
    return indexedTable !== undefined && !createdTables.includes(indexedTable);
  });
}

function readMigration(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}
