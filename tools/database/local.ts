/** The local database: the SQLite file that `dev` uses too. */

import { createHash, createHmac } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { withPath } from '../command-line/user-error.ts';
import { databaseOver } from './d1.ts';

/** The runtime's D1 databases are Durable Objects of this class. */
const CLASS = 'miniflare-D1DatabaseObject';
const FOLDER = join(PROJECT_DIRECTORY, '.wrangler/state/v3/d1', CLASS);
/** The `preview_database_id` of wrangler.toml. */
const NAME = 'DB';
const MAX_BUSY_MS = 60_000;

/** Opens the database of `dev`. The caller disposes of it. */
export function openLocal(folder = FOLDER): Disposable & { database: D1Database } {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${hashObjectName(CLASS, NAME)}.sqlite`);
  const sqlite = withPath(file, () => {
    const opened = new DatabaseSync(file, { timeout: MAX_BUSY_MS });
    opened.exec('PRAGMA journal_mode = WAL');
    return opened;
  });
  return { database: wrapSqlite(sqlite), [Symbol.dispose]: () => sqlite.close() };
}

export function wrapSqlite(sqlite: DatabaseSync): D1Database {
  return databaseOver(async (queries) => {
    await new Promise(setImmediate); // Lets signals and timers in during a long import.
    // A read alone waits for no lock.
    const isBatch = queries.length > 1;
    if (isBatch) sqlite.exec('BEGIN IMMEDIATE');
    try {
      const results = queries.map(({ sql, values }) =>
        sqlite.prepare(sql).all(...values.map(convertValue)),
      );
      if (isBatch) sqlite.exec('COMMIT');
      return results;
    } finally {
      if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
    }
  });
}

/** Node binds every `number` as a real one. */
function convertValue(value: unknown): SQLInputValue {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === 'string' || value === null) return value;
  throw new Error(`D1 cannot bind a ${typeof value}`);
}

/** Returns the id of a Durable Object, which names its file. */
function hashObjectName(className: string, name: string): string {
  const key = createHash('sha256').update(className).digest();
  const sign = (data: string | Buffer) =>
    createHmac('sha256', key).update(data).digest().subarray(0, 16);
  const half = sign(name);
  return Buffer.concat([half, sign(half)]).toString('hex');
}
