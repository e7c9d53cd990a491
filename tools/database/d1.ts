/** The interface of the Worker's D1 binding, over any program that runs SQL. */

export type Query = { sql: string; values: readonly unknown[] };
type Row = Record<string, unknown>;

/** Runs queries as one transaction. Returns the rows of each. */
type RunQueries = (queries: readonly Query[]) => Promise<readonly Row[][]>;

export function databaseOver(run: RunQueries): D1Database {
  return {
    prepare: (sql) => new Statement(run, { sql, values: [] }),
    async batch<T>(statements: D1PreparedStatement[]) {
      const queries = statements.map((statement) => {
        if (statement instanceof Statement) return statement.query;
        throw new Error('the statement is of another database');
      });
      return (await run(queries)).map((rows) => createResult<T>(rows));
    },
    exec: rejectCall,
    withSession: rejectCall,
    dump: rejectCall,
  };
}

function rejectCall(): never {
  throw new Error('commands do not call this method of D1');
}

class Statement implements D1PreparedStatement {
  readonly query: Query;
  readonly #run: RunQueries;

  constructor(run: RunQueries, query: Query) {
    this.query = query;
    this.#run = run;
  }

  bind(...values: unknown[]): D1PreparedStatement {
    return new Statement(this.#run, { ...this.query, values });
  }

  async all<T = Row>(): Promise<D1Result<T>> {
    const [rows] = await this.#run([this.query]);
    if (rows === undefined) throw new Error('D1 gave no result');
    return createResult<T>(rows);
  }

  run<T = Row>(): Promise<D1Result<T>> {
    return this.all<T>();
  }

  async first<T = unknown>(column?: string): Promise<T | null> {
    const [row] = (await this.all()).results;
    if (row === undefined) return null;
    return (column === undefined ? row : row[column]) as T;
  }

  raw = rejectCall;
}

/** As with the binding, the caller states the type of the rows. There is no metadata. */
function createResult<T>(rows: readonly unknown[]): D1Result<T> {
  return { success: true, results: rows as T[], meta: {} as D1Meta } as D1Result<T>;
}
