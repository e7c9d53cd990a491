/** The local database: the SQLite file that the runtime of `dev` reads and writes too, or a database in memory. */

import { createHash, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { databaseOver, type Query } from '../cloudflare/rest-database.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** The Durable Object class in which the runtime keeps D1 databases. */
const RUNTIME_CLASS = 'miniflare-D1DatabaseObject';
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler', 'state', 'v3', 'd1', RUNTIME_CLASS);
/** The `preview_database_id` of wrangler.toml. */
const LOCAL_ID = 'DB';
/** How long a statement waits while the runtime has locked the file. */
const MAX_BUSY_MS = 60_000;

/** Opens the database of `dev`. The caller closes it. */
export function openLocal(folder = FOLDER): OpenDatabase {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${objectIdOf(LOCAL_ID)}.sqlite`);
  const sqlite = new DatabaseSync(file, { timeout: MAX_BUSY_MS });
  sqlite.exec('PRAGMA journal_mode = WAL');
  return { database: databaseOf(sqlite), close: async () => sqlite.close() };
}

export function openInMemory(): OpenDatabase {
  const sqlite = new DatabaseSync(':memory:');
  return { database: databaseOf(sqlite), close: async () => sqlite.close() };
}

/** Returns the interface of D1 for a SQLite database of this process. A batch is one transaction. */
export function databaseOf(sqlite: DatabaseSync): D1Database {
  const run = ({ sql, params }: Query) => ({ results: sqlite.prepare(sql).all(...params) });
  return databaseOver(async (body) => {
    if (!('batch' in body)) return [run(body)];
    sqlite.exec('BEGIN IMMEDIATE');
    try {
      const results = body.batch.map(run);
      sqlite.exec('COMMIT');
      return results;
    } finally {
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
    }
  });
}

/** Returns the id that the runtime gives to the object of a name: `ActorNamespace` in workerd/server/server.c++. */
function objectIdOf(name: string): string {
  const key = createHash('sha256').update(RUNTIME_CLASS).digest();
  const half = (data: string | Buffer) =>
    createHmac('sha256', key).update(data).digest().subarray(0, 16);
  return Buffer.concat([half(name), half(half(name))]).toString('hex');
}
