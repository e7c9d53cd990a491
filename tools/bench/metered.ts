/** A database that adds up the rows read by its statements, as D1 counts them. */

import type { Database } from './runtime.ts';

type Statement = ReturnType<Database['prepare']>;

/** `rowsRead` counts all statements so far. */
export type Meter = { database: D1Database; readonly rowsRead: number };

/** Wraps a database. The wrapper has only the methods that the stores call. */
export function metered(database: Database): Meter {
  const originals = new WeakMap<object, Statement>();
  let rowsRead = 0;
  const all = async (statement: Statement) => {
    const result = await statement.all<Record<string, unknown>>();
    rowsRead += result.meta.rows_read;
    return result;
  };
  const wrap = (statement: Statement): object => {
    const wrapped = {
      bind: (...values: unknown[]) => wrap(statement.bind(...values)),
      all: () => all(statement),
      run: () => all(statement),
      /** D1 gives no account with bare rows: they are made from whole ones. */
      raw: async () => (await all(statement)).results.map(Object.values),
    };
    originals.set(wrapped, statement);
    return wrapped;
  };
  const wrapped = {
    prepare: (query: string) => wrap(database.prepare(query)),
    batch: async (statements: object[]) => {
      const results = await database.batch(statements.flatMap((each) => originals.get(each) ?? []));
      for (const { meta } of results) rowsRead += meta.rows_read;
      return results;
    },
    withSession: () => wrapped,
  };
  return {
    database: wrapped as unknown as D1Database,
    get rowsRead() {
      return rowsRead;
    },
  };
}
