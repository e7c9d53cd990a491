/**
 * Statements that Drizzle writes once an isolate, not once a request: putting the text together
 * takes longer than binding values to it, and the text of one shape is always the same.
 */

import {
  fillPlaceholders,
  type Placeholder,
  type Query,
  SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';

/** A statement whose text is written. */
export type Statement = {
  /** The statement with a value for each `sql.placeholder` of its query. */
  bindTo(
    database: Pick<D1Database, 'prepare'>,
    values: Readonly<Record<string, string | number>>,
  ): D1PreparedStatement;
};

type DrizzleQuery = SQL | { toSQL(): Query };

/** Writes the statement of a query. */
export function statementOf(query: DrizzleQuery): Statement {
  const { sql, params } =
    query instanceof SQL ? new SQLiteAsyncDialect().sqlToQuery(query) : query.toSQL();
  return {
    bindTo: (database, values) => database.prepare(sql).bind(...fillPlaceholders(params, values)),
  };
}

/** The statements of a query that has several shapes, each written when a request first asks for it. */
export function statementsOf<Request>(
  queryOf: (request: Request) => DrizzleQuery,
  shapeOf: (request: Request) => string,
): (request: Request) => Statement {
  const known = new Map<string, Statement>();
  return (request) => {
    const shape = shapeOf(request);
    const statement = known.get(shape) ?? statementOf(queryOf(request));
    known.set(shape, statement);
    return statement;
  };
}

/**
 * `query` up to a number of rows that is bound. SQLite prepares a statement anew each time that a
 * bare `limit ?` is bound, since its planner looks at the value; at an expression it does not.
 */
export function limited(query: SQLWrapper, rows: Placeholder): SQL {
  return sql`${query.getSQL()} limit ${rows} + 0`;
}
