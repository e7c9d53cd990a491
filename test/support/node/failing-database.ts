import { createD1Database } from '../../../tools/database/d1.ts';

export const GONE = 'the connection is gone';

/**
 * Returns a database whose calls can fail. `behave` decides whether a call fails before or after it
 * takes effect.
 */
export function failingDatabase(
  database: D1Database,
  behave: (sql: string) => 'before' | 'after' | undefined,
): D1Database {
  return createD1Database(async (queries) => {
    const failure = behave(queries.map(({ sql }) => sql).join(';\n'));
    if (failure === 'before') throw new Error(GONE);
    const statements = queries.map(({ sql, params }) => database.prepare(sql).bind(...params));
    const results = await database.batch<Record<string, unknown>>(statements);
    if (failure === 'after') throw new Error(GONE);
    return results.map(({ results: rows }) => rows);
  });
}
