/** The operations: which command changed the database, who ran it, and when. */

import { userInfo } from 'node:os';
import { basename } from 'node:path';
import { sql } from 'drizzle-orm';
import { properties } from '../../src/properties/table.ts';
import { createStatement } from '../../src/storage/statement.ts';
import { operations } from '../../src/storage/table.ts';
import { readGit } from '../command-line/git.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

/** The record of a command. Its other arguments may name guests, and are left out. */
export type NewOperation = {
  id: string;
  /** e.g. `import-listings` */
  command: string;
  /** The path of the file that it reads. Only its last name is stored. */
  file?: string | undefined;
  /** e.g. `{ added: 1, changed: 2 }` */
  counts: Readonly<Record<string, number>>;
  /** A hash of the id of the export that the file was made from. */
  exportKey?: string | undefined;
};

export type Operation = typeof operations.$inferSelect;

/**
 * Prepares the statement that records an operation, for the last transaction of its command, which
 * may be repeated.
 */
export function recordOperation(
  database: D1Database,
  { id, command, file, counts, exportKey }: NewOperation,
): D1PreparedStatement {
  const values = {
    id,
    at: Date.now(),
    who: findUser(),
    // `dev` serves a checkout that git refuses too, e.g. in a container.
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

/** Number of newest operations that are always read. The last change of a location may be among them. */
const NEWEST_OPERATIONS = 100;
const NAMED = createStatement(sql<Operation>`
  select ${COLUMNS}, rowid from ${operations}
  where id in (select value from json_each(${sql.placeholder('ids')}))
  union
  select ${COLUMNS}, rowid from ${operations}
  where rowid > (select max(rowid) from ${operations}) - ${sql.raw(`${NEWEST_OPERATIONS}`)}
  order by at desc, rowid desc`);

/** Returns the operations with these ids and the 100 newest ones, newest first. Other rows are not read. */
export function readNamedOperations(
  database: D1Database,
  ids: readonly (string | null)[],
): Promise<Operation[]> {
  const distinctIds = [...new Set(ids)].filter((id) => id !== null);
  return NAMED.rows(database, { ids: JSON.stringify(distinctIds) });
}

/** Returns all operations, or only the last one that changed the listing with this slug. */
export function listOperations(database: D1Database, slug?: string): Promise<Operation[]> {
  return slug === undefined
    ? NEWEST_FIRST.rows(database, {})
    : LAST_OF_LISTING.rows(database, { slug });
}

/** e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx` */
export function formatOperation({ at, who, command, file }: Operation): string {
  const time = new Date(at).toISOString().slice(0, 16).replace('T', ' ');
  return `${time} UTC by ${who}, ${[command, file].filter(Boolean).join(' ')}`;
}

/** Returns the name of the person who runs the command. */
export function findUser(): string {
  const { GITHUB_ACTOR, USER } = process.env;
  return GITHUB_ACTOR || findAccount() || USER || 'unknown';
}

/** A user may have no entry in the system's list, e.g. in a container. */
function findAccount(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

let cachedCommit: string | null | undefined;

/**
 * Returns e.g. `8ee1a43f02bc`, or `8ee1a43f02bc-dirty` if files differ from the commit, and null
 * without git or a repository. Throws a `UserError` if git refuses: a command that records an
 * operation calls this before it changes anything. git is asked once per process: what has been
 * found at the beginning is what the end records.
 */
export function findCommit(): string | null {
  if (cachedCommit !== undefined) return cachedCommit;
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
  cachedCommit = readGit(PROJECT_DIRECTORY, ...args) ?? null;
  return cachedCommit;
}

/** Lets the next call run git again. For tests, whose commands share a process. */
export function forgetCommit(): void {
  cachedCommit = undefined;
}
