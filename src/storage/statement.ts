/**
 * Statements that Drizzle writes once an isolate, not once a request: putting the text together
 * takes longer than binding values to it, and the text of one shape is always the same.
 */

import { fillPlaceholders, type Query, SQL } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';

export type Statement = {
  /** The statement with a value for each `sql.placeholder` of its query. */
  bindTo(
    database: Pick<D1Database, 'prepare'>,
    values: Readonly<Record<string, string | number>>,
  ): D1PreparedStatement;
};

export function statementOf(query: SQL | { toSQL(): Query }): Statement {
  const { sql, params } =
    query instanceof SQL ? new SQLiteAsyncDialect().sqlToQuery(query) : query.toSQL();
  return {
    bindTo: (database, values) => database.prepare(sql).bind(...fillPlaceholders(params, values)),
  };
}
