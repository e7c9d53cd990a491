/** The local database: the SQLite file that `dev` uses too, or a database in memory. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { databaseOver, type Query } from '../cloudflare/rest-database.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

const FOLDER = join(PROJECT_DIRECTORY, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
/** The runtime names the file by a hash of `DB`, the `preview_database_id` of wrangler.toml. */
const FILE = 'e7352547963de7050bd7d94658afc4fe78b61811b7815da12d90be8e863abf4d.sqlite';
const MAX_BUSY_MS = 60_000;

/** Opens the database of `dev`. The caller closes it. */
export function openLocal(folder = FOLDER): OpenDatabase {
  mkdirSync(folder, { recursive: true });
  const sqlite = new DatabaseSync(join(folder, FILE), { timeout: MAX_BUSY_MS });
  sqlite.exec('PRAGMA journal_mode = WAL');
  return { database: databaseOf(sqlite), close: async () => sqlite.close() };
}

export function openInMemory(): OpenDatabase {
  const sqlite = new DatabaseSync(':memory:');
  return { database: databaseOf(sqlite), close: async () => sqlite.close() };
}

/** Gives a SQLite database the interface of D1. A batch is one transaction. */
export function databaseOf(sqlite: DatabaseSync): D1Database {
  const run = ({ sql, params }: Query) => ({ results: sqlite.prepare(sql).all(...params) });
  return databaseOver(async (body) => {
    await new Promise(setImmediate); // Lets signals and timers in during a long import.
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
