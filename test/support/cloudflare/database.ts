/** A fake D1 database in memory, for `FakeCloudflare` and for tests of commands. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createD1Database } from '../../../tools/database/d1.ts';
import { listMigrations } from '../../../tools/database/migrations.ts';

/** A statement in D1's REST API, in which all parameters are strings. */
export type Statement = { sql: string; params?: string[] };

/** A fake D1 database. The API returns its public fields. */
export class Database {
  readonly uuid = randomUUID();
  readonly name: string;
  readonly primary_location_hint: unknown;
  readonly jurisdiction: unknown;
  read_replication = { mode: 'disabled' };
  file_size = 0;
  sqlite = new DatabaseSync(':memory:');

  constructor(name: string, { primary_location_hint, jurisdiction }: Partial<Database> = {}) {
    this.name = name;
    this.primary_location_hint = primary_location_hint;
    this.jurisdiction = jurisdiction;
  }

  /** Applies the project's migrations and records them like wrangler. */
  migrate(): this {
    this.sqlite.exec('CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE)');
    for (const file of listMigrations()) {
      this.sqlite.exec(readFileSync(`migrations/${file}`, 'utf8'));
      this.sqlite.prepare('INSERT INTO d1_migrations (name) VALUES (?)').run(file);
    }
    return this;
  }

  /** Returns a function that restores the current tables and rows. */
  keep(): () => void {
    const state = this.sqlite.serialize();
    return () => {
      // `deserialize` does not work on a connection that has been used.
      this.sqlite.close();
      this.sqlite = new DatabaseSync(':memory:');
      this.sqlite.deserialize(state);
    };
  }

  rows(sql: string): Record<string, unknown>[] {
    return this.sqlite.prepare(sql).all();
  }

  /** Returns the D1 binding that commands use with `--remote`, but without HTTP requests. */
  get binding(): D1Database {
    return createD1Database(async (queries) => this.query(queries));
  }

  /** Runs statements in one transaction. Returns the rows of each statement. */
  query(statements: readonly Statement[]): Record<string, unknown>[][] {
    this.sqlite.exec('BEGIN');
    try {
      const rows = statements.map(({ sql, params = [] }) =>
        this.sqlite.prepare(sql).all(...params),
      );
      this.sqlite.exec('COMMIT');
      return rows;
    } finally {
      if (this.sqlite.isTransaction) this.sqlite.exec('ROLLBACK');
    }
  }
}
