/** D1: real SQLite. A batch is a transaction; a session may be served by a replica that lags. */

import { globSync, readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

const SCHEMA = globSync('migrations/*.sql').map((file) => readFileSync(file, 'utf8'));

type Statement = { sql: string; values: SQLInputValue[] };

/** A database with the schema of the service, in memory. */
export class Database {
  readonly #sqlite = new DatabaseSync(':memory:');

  constructor() {
    for (const migration of SCHEMA) this.#sqlite.exec(migration);
    this.#sqlite.exec("update database_identity set generation = 'simulated'");
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
