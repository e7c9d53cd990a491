/** A D1 database on SQLite in memory, for `FakeCloudflare` and for commands. */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createD1Database } from '../../../tools/database/d1.ts';
import { listMigrations } from '../../../tools/database/migrations.ts';

/** A statement of D1's REST API, which sends parameters as strings. */
export type Statement = { sql: string; params?: string[] };

/** A database. Its public fields are the fields that D1's API returns. */
export class Database {
  readonly uuid = randomUUID();
  readonly name: string;
  readonly primary_location_hint: unknown;
  readonly jurisdiction: unknown;
  read_replication = { mode: 'disabled' };
  /** Size in bytes. */
  file_size = 0;
  sqlite = new DatabaseSync(':memory:');

  constructor(name: string, { primary_location_hint, jurisdiction }: Partial<Database> = {}) {
    this.name = name;
    this.primary_location_hint = primary_location_hint;
    this.jurisdiction = jurisdiction;
  }

  /** Applies the project's migrations, and records them as wrangler does. */
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
      // A connection that has been used would not survive `deserialize`.
      this.sqlite.close();
      this.sqlite = new DatabaseSync(':memory:');
      this.sqlite.deserialize(state);
    };
  }

  /** Returns the rows of a query. */
  rows(sql: string): Record<string, unknown>[] {
    return this.sqlite.prepare(sql).all();
  }

  /** Returns the D1 interface that commands use with `--remote`, but without requests. */
  get binding(): D1Database {
    return createD1Database(async (queries) => this.query(queries));
  }

  /** Runs statements as one transaction, and returns the rows of each. */
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
