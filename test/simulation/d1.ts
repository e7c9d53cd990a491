/** D1: real SQLite. A batch is a transaction; a session may be served by a replica that lags. */

import { globSync, readFileSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

const SCHEMA = globSync('migrations/*.sql')
  .sort()
  .map((file) => readFileSync(file, 'utf8'));
const TABLES = ['events', 'properties'];

/** A database with the schema of the service, in memory. */
export class Database {
  readonly #database = new DatabaseSync(':memory:');
  readonly #prepared = new Map<string, StatementSync>();

  constructor() {
    for (const migration of SCHEMA) this.#database.exec(migration);
  }

  /** Deletes all rows. */
  clear(): void {
    for (const table of TABLES) this.#database.exec(`delete from ${table}`);
  }

  /** Runs the statements in a transaction. */
  batch(statements: readonly Statement[]): D1Result[] {
    this.#database.exec('begin');
    try {
      const results = statements.map(({ sql, values }) => this.#run(sql, values));
      this.#database.exec('commit');
      return results;
    } catch (error) {
      this.#database.exec('rollback');
      throw error;
    }
  }

  rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#statementOf(sql).all(...values);
  }

  #run(sql: string, values: SQLInputValue[]): D1Result {
    const before = this.#changes();
    const results = this.#statementOf(sql).all(...values);
    const changes = this.#changes() - before;
    return { success: true, results, meta: { changes } } as unknown as D1Result;
  }

  #changes(): number {
    return Number(this.#statementOf('select total_changes() as total').get()?.total);
  }

  #statementOf(sql: string): StatementSync {
    const known = this.#prepared.get(sql) ?? this.#database.prepare(sql);
    this.#prepared.set(sql, known);
    return known;
  }
}

type Statement = { sql: string; values: SQLInputValue[] };

/** Makes a round trip. */
type RoundTrip = <T>(effect: () => T) => Promise<T>;

/** Returns the binding. Sessions read from the replica, when it is there. */
export function d1Binding(primary: Database, replica: Database, roundTrip: RoundTrip): D1Database {
  const connectionTo = (database: Database) => {
    const statementOf = (sql: string, values: SQLInputValue[] = []) => {
      const run = () =>
        roundTrip(() => {
          const [result] = database.batch([{ sql, values }]);
          return result;
        });
      return {
        sql,
        values,
        bind: (...bound: SQLInputValue[]) => statementOf(sql, bound),
        all: run,
        run,
        first: async (column?: string) => {
          const row = (await run())?.results[0] ?? null;
          return column === undefined ? row : Reflect.get(Object(row), column);
        },
      };
    };
    return {
      prepare: (sql: string) => statementOf(sql),
      batch: (statements: Statement[]) => roundTrip(() => database.batch(statements)),
    };
  };
  const withSession = (constraint: string) =>
    connectionTo(constraint === 'first-unconstrained' ? replica : primary);
  return { ...connectionTo(primary), withSession } as unknown as D1Database;
}
