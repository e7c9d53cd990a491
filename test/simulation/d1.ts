/** D1: real SQLite. A batch is a transaction. */

import { globSync, readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

const SCHEMA = globSync('migrations/*.sql')
  .sort()
  .map((file) => readFileSync(file, 'utf8'));

type Statement = { sql: string; values: SQLInputValue[] };

/** A database with the schema of the service, in memory. */
export class Database {
  readonly #sqlite = emptyDatabase();

  /** Runs the statements in a transaction. */
  batch(statements: readonly Statement[]): object[] {
    this.#sqlite.exec('begin');
    try {
      const results = statements.map(({ sql, values }) => {
        return { success: true, results: this.rows(sql, ...values), meta: {} };
      });
      this.#sqlite.exec('commit');
      return results;
    } catch (error) {
      this.#sqlite.exec('rollback');
      throw error;
    }
  }

  rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#sqlite.prepare(sql).all(...values);
  }
}

function emptyDatabase(): DatabaseSync {
  const sqlite = new DatabaseSync(':memory:');
  for (const migration of SCHEMA) sqlite.exec(migration);
  sqlite.exec("update database_identity set generation = 'simulated'");
  return sqlite;
}

/** Makes a round trip. */
type RoundTrip = <T>(effect: () => T) => Promise<T>;

/** Returns the binding, with what the service calls of it. */
export function d1Binding(database: Database, roundTrip: RoundTrip): object {
  const statementOf = (sql: string, values: SQLInputValue[] = []) => {
    const run = () => roundTrip(() => database.batch([{ sql, values }])[0]);
    const bind = (...bound: SQLInputValue[]) => statementOf(sql, bound);
    return { sql, values, bind, all: run, run, first: run };
  };
  return {
    prepare: (sql: string) => statementOf(sql),
    batch: (statements: Statement[]) => roundTrip(() => database.batch(statements)),
  };
}
