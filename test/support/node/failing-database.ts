import { databaseOver } from '../../../tools/database/d1.ts';

/** The message of a call that fails. */
export const GONE = 'the connection is gone';

/**
 * A database whose calls fail as `fateOf` says of their SQL: before they are carried out, or after.
 */
export function failingDatabase(
  database: D1Database,
  fateOf: (sql: string) => 'before' | 'after' | undefined,
): D1Database {
  return databaseOver(async (queries) => {
    const fate = fateOf(queries.map(({ sql }) => sql).join(';\n'));
    if (fate === 'before') throw new Error(GONE);
    const statements = queries.map(({ sql, params }) => database.prepare(sql).bind(...params));
    const all = await database.batch<Record<string, unknown>>(statements);
    if (fate === 'after') throw new Error(GONE);
    return all.map(({ results }) => results);
  });
}
