/** Opens the local database, which is the SQLite file that `npm run dev` uses. */

import { createHash, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { withPath } from '../command-line/user-error.ts';
import { createD1Database } from './d1.ts';

/** Name of the Durable Object class with which the local runtime stores D1 databases. */
const CLASS = 'miniflare-D1DatabaseObject';
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler/state/v3/d1', CLASS);
/** The database's `preview_database_id` in wrangler.toml. */
const NAME = 'DB';
const MAX_BUSY_MS = 60_000;

/** Opens the local database. The caller must dispose of it. */
export function openLocal(folder = FOLDER): DatabaseSync {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${hashObjectName(CLASS, NAME)}.sqlite`);
  return withPath(file, () => {
    const sqlite = new DatabaseSync(file, { timeout: MAX_BUSY_MS });
    sqlite.exec('PRAGMA journal_mode = WAL');
    return sqlite;
  });
}

export function wrapSqlite(sqlite: DatabaseSync): D1Database {
  return createD1Database(async (queries) => {
    await new Promise(setImmediate); // Lets signals and timers in during a long import.
    // A single statement needs no explicit transaction. Without one, a read does not wait for a lock.
    const isBatch = queries.length > 1;
    if (isBatch) sqlite.exec('BEGIN IMMEDIATE');
    try {
      const results = queries.map(({ sql, params }) => sqlite.prepare(sql).all(...params));
      if (isBatch) sqlite.exec('COMMIT');
      return results;
    } finally {
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
    }
  });
}

/** Returns the id of a Durable Object, which is also the name of its file. */
function hashObjectName(className: string, name: string): string {
  const key = createHash('sha256').update(className).digest();
  const sign = (data: string | Buffer) =>
    createHmac('sha256', key).update(data).digest().subarray(0, 16);
  const half = sign(name);
  return Buffer.concat([half, sign(half)]).toString('hex');
}
