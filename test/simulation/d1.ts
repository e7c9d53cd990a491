/** D1: real SQLite. A batch is a transaction; a session may be served by a replica that lags. */

import { globSync, readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

const SCHEMA = globSync('migrations/*.sql')
  .sort()
  .map((file) => readFileSync(file, 'utf8'));

export type Statement = { sql: string; values: SQLInputValue[] };

/** A database with the schema of the service, in memory. */
export class Database {
  /** The batches that were committed, so that a replica can repeat them. */
  readonly log: (readonly Statement[])[] = [];
  #sqlite = emptyDatabase();

  /** Brings back the state after some batches, as Time Travel does. */
  rewind(batches: number): void {
    const kept = this.log.splice(0).slice(0, batches);
    this.#sqlite = emptyDatabase();
    for (const batch of kept) this.batch(batch);
  }

  /** Runs the statements in a transaction. */
  batch(statements: readonly Statement[]): object[] {
    this.#sqlite.exec('begin');
    try {
      const results = statements.map(({ sql, values }) => {
        const before = this.#changes();
        const results = this.rows(sql, ...values);
        return { success: true, results, meta: { changes: this.#changes() - before } };
      });
      this.#sqlite.exec('commit');
      if (results.some(({ meta }) => meta.changes > 0)) this.log.push(statements);
      return results;
    } catch (error) {
      this.#sqlite.exec('rollback');
      throw error;
    }
  }

  rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#sqlite.prepare(sql).all(...values);
  }

  #changes(): number {
    return Number(this.rows('select total_changes() as total')[0]?.total);
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

/** Returns the binding, with what the service calls of it. Sessions may read from the replica. */
export function d1Binding(primary: Database, replica: Database, roundTrip: RoundTrip): object {
  const connectionTo = (database: Database) => {
    const statementOf = (sql: string, values: SQLInputValue[] = []) => {
      const run = () => roundTrip(() => database.batch([{ sql, values }])[0]);
      const bind = (...bound: SQLInputValue[]) => statementOf(sql, bound);
      return { sql, values, bind, all: run, run, first: run };
    };
    return {
      prepare: (sql: string) => statementOf(sql),
      batch: (statements: Statement[]) => roundTrip(() => database.batch(statements)),
    };
  };
  const withSession = (constraint: string) =>
    connectionTo(constraint === 'first-unconstrained' ? replica : primary);
  return { ...connectionTo(primary), withSession };
}
