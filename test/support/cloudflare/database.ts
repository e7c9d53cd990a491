/** A D1 database of the stand-in, on SQLite in memory. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import * as z from 'zod';
import { databaseOver } from '../../../tools/database/d1.ts';
import { migrationNames } from '../../../tools/database/migrations.ts';
import { withTextParameters } from '../../../tools/database/placeholders.ts';

/** D1's published schema: parameters are strings. */
const query = z.object({ sql: z.string(), params: z.array(z.string()).optional() });
const request = z.union([query, z.object({ batch: z.array(query) })]);

/** A rejection, in Cloudflare's envelope. */
export class ApiFault extends Error {
  readonly status: number;
  readonly body: object;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.body = { success: false, errors: [{ code, message }], messages: [], result: null };
  }
}

/** Its public fields in JSON are those of D1's API. */
export class Database {
  readonly uuid = randomUUID();
  readonly name: string;
  readonly location: unknown;
  readonly jurisdiction: unknown;
  read_replication = { mode: 'disabled' };
  /** In bytes. */
  file_size = 0;
  /** The database at each bookmark that was returned. */
  readonly #history = new Map<string, Uint8Array>();
  readonly sqlite = new DatabaseSync(':memory:');

  constructor(name: string, location?: unknown, jurisdiction: unknown = null) {
    this.name = name;
    this.location = location;
    this.jurisdiction = jurisdiction;
  }

  /** Applies the project's migrations, with the record that wrangler keeps of them. */
  migrate(): void {
    this.sqlite.exec(
      'CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)',
    );
    for (const file of migrationNames()) {
      this.sqlite.exec(readFileSync(`migrations/${file}`, 'utf8'));
      this.sqlite.prepare('INSERT INTO d1_migrations (name) VALUES (?)').run(file);
    }
  }

  /** Returns the rows of a query. */
  rows(sql: string): Record<string, unknown>[] {
    return this.sqlite.prepare(sql).all() as Record<string, unknown>[];
  }

  /** Returns the bookmark of the present state. */
  bookmark(): string {
    const number = this.#history.size.toString(16).padStart(8, '0');
    const bookmark = `${number}-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683`;
    this.#history.set(bookmark, this.sqlite.serialize());
    return bookmark;
  }

  /** Rewinds to a bookmark. With another text for one, the database stays as it is. */
  travelTo(bookmark: string | null): void {
    const state = this.#history.get(bookmark ?? '');
    if (state !== undefined) this.sqlite.deserialize(state);
  }

  /** Returns the interface of D1 that commands have with `--remote`, without the requests. */
  get binding(): D1Database {
    return databaseOver(async (queries) => {
      const batch = queries.map(({ sql, values }) => withTextParameters(sql, values));
      return this.#run({ batch }).map(({ results }) => results);
    });
  }

  /** Returns the result of a request of D1's REST interface. */
  query(body: string) {
    return this.#run(JSON.parse(body));
  }

  /** Runs one statement or a batch, as one transaction. */
  #run(body: unknown) {
    const parsed = request.safeParse(body);
    if (!parsed.success)
      throw new ApiFault(400, 7400, 'The request is malformed: params are strings');
    const queries = 'batch' in parsed.data ? parsed.data.batch : [parsed.data];
    this.sqlite.exec('BEGIN');
    try {
      const results = queries.map(({ sql, params = [] }) => this.#runOne(sql, params));
      this.sqlite.exec('COMMIT');
      return results;
    } catch (error) {
      this.sqlite.exec('ROLLBACK');
      const message = error instanceof Error ? error.message : String(error);
      throw new ApiFault(400, 7500, `${message}: SQLITE_ERROR`);
    }
  }

  #runOne(sql: string, params: SQLInputValue[]) {
    return { success: true, results: this.sqlite.prepare(sql).all(...params) };
  }
}
