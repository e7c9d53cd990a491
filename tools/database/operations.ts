/** Records operations: which command changed the database, who ran it, and when. */

import { userInfo } from 'node:os';
import { basename } from 'node:path';
import { sql } from 'drizzle-orm';
import { properties } from '../../src/properties/table.ts';
import { createStatement } from '../../src/storage/statement.ts';
import { operations } from '../../src/storage/table.ts';
import { readGit } from '../command-line/git.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

/**
 * An operation to record. A command's other arguments are left out, because they may name guests.
 */
export type NewOperation = {
  id: string;
  /** The name of the command, e.g. `import-listings`. */
  command: string;
  /** Path of the file that the command reads. Only the file's name is stored. */
  file?: string | undefined;
  /** The number of changes of each kind, e.g. `{ added: 1, changed: 2 }`. */
  counts: Readonly<Record<string, number>>;
  /** Hash of the export's id; undefined if the file does not come from an export. */
  exportKey?: string | undefined;
};

export type Operation = typeof operations.$inferSelect;

/**
 * Prepares a statement that records an operation. It can be repeated, and belongs in the command's
 * last transaction.
 */
export function recordOperation(
  database: D1Database,
  { id, command, file, counts, exportKey }: NewOperation,
): D1PreparedStatement {
  const values = {
    id,
    at: Date.now(),
    who: findUser(),
    // `dev` also works in a checkout that git refuses to read, e.g. in a container.
    commit: command === 'dev' ? null : findCommit(),
    command,
    file: file === undefined ? null : basename(file),
    counts: JSON.stringify(counts),
    export_id: exportKey ?? null,
  } satisfies Operation;
  const names = Object.keys(values).map((name) => `"${name}"`);
  const places = names.map(() => '?');
  return database
    .prepare(`INSERT INTO operations (${names}) VALUES (${places}) ON CONFLICT DO NOTHING`)
    .bind(...Object.values(values));
}

const COLUMNS = sql`id, at, who, "commit", command, file, counts, export_id`;
const NEWEST_FIRST = createStatement(sql<Operation>`
  select ${COLUMNS} from ${operations} order by at desc, rowid desc`);
const LAST_OF_LISTING = createStatement(sql<Operation>`
  select ${COLUMNS} from ${operations}
  where id = (select operation from ${properties} where slug = ${sql.placeholder('slug')})`);

/**
 * Number of newest operations that are always read, because one of them may be the last change of a
 * location.
 */
const NEWEST_OPERATIONS = 100;
const NAMED = createStatement(sql<Operation>`
  select ${COLUMNS}, rowid from ${operations}
  where id in (select value from json_each(${sql.placeholder('ids')}))
  union
  select ${COLUMNS}, rowid from ${operations}
  where rowid > (select max(rowid) from ${operations}) - ${sql.raw(`${NEWEST_OPERATIONS}`)}
  order by at desc, rowid desc`);

/**
 * Returns the 100 newest operations and those with the given ids, newest first. Other rows are not
 * read.
 */
export function readNamedOperations(
  database: D1Database,
  ids: readonly (string | null)[],
): Promise<Operation[]> {
  const distinctIds = [...new Set(ids)].filter((id) => id !== null);
  return NAMED.rows(database, { ids: JSON.stringify(distinctIds) });
}

/** Returns all operations; with a slug, only the last one that changed that listing. */
export function listOperations(database: D1Database, slug?: string): Promise<Operation[]> {
  return slug === undefined
    ? NEWEST_FIRST.rows(database, {})
    : LAST_OF_LISTING.rows(database, { slug });
}

/** Formats an operation, e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx`. */
export function formatOperation({ at, who, command, file }: Operation): string {
  const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
  return `${time} UTC by ${who}, ${[command, file].filter(Boolean).join(' ')}`;
}

/** Returns the name of the person who runs the command. */
export function findUser(): string {
  const { GITHUB_ACTOR, USER } = process.env;
  return GITHUB_ACTOR || findAccount() || USER || 'unknown';
}

/**
 * Returns the name of the system account; undefined if the user does not have one, e.g. in a
 * container.
 */
function findAccount(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

let cachedCommit: string | null | undefined;

/**
 * Returns the current commit, e.g. `8ee1a43f02bc`, or `8ee1a43f02bc-dirty` if there are uncommitted
 * changes. Returns null if git is not installed or there is no repository. Throws a `UserError` if
 * git fails, so a command that records an operation calls this function before it changes anything.
 * The result is cached for the rest of the process.
 */
export function findCommit(): string | null {
  if (cachedCommit !== undefined) return cachedCommit;
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  cachedCommit = readGit(PROJECT_DIRECTORY, ...args) ?? null;
  return cachedCommit;
}

/** Clears the cached commit between tests, whose commands share a process. */
export function forgetCommit(): void {
  cachedCommit = undefined;
}
