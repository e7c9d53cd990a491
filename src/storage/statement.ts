/** SQL compiled once per isolate. Drizzle takes longer to compile a statement than D1 takes to bind its values. */

import { fillPlaceholders, type Query, SQL } from 'drizzle-orm';
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';

/** Name of an `sql.placeholder` → value. A value without a placeholder may be undefined. */
type Values = Readonly<Record<string, string | number | null | undefined>>;

/** A D1 database, or a session of one. */
export type Connection = Pick<D1Database, 'prepare'>;

/** A compiled statement. Drizzle infers `Row` from the tables. */
type Statement<Row> = {
  /** Binds a value to each placeholder. */
  bindTo(connection: Connection, values: Values): D1PreparedStatement;
  rows(connection: Connection, values: Values): Promise<Row[]>;
};

/**
 * A query of Drizzle's builder, or whole SQL. Tables name their columns as the database does, so a row that D1 returns
 * is a row of the query's result type.
 */
type TypedQuery<Row> = SQL<Row> | { toSQL(): Query; readonly _: { readonly result: Row[] } };

/** Compiles a query. */
export function statementOf<Row>(query: TypedQuery<Row>): Statement<Row> {
  const { sql, params } =
    query instanceof SQL ? new SQLiteAsyncDialect().sqlToQuery(query) : query.toSQL();
  const bindTo = (connection: Connection, values: Values) =>
    connection.prepare(sql).bind(...fillPlaceholders(params, values));
  return {
    bindTo,
    rows: async (connection, values) => (await bindTo(connection, values).all<Row>()).results,
  };
}

/** Compiles one statement for each shape of request, at the first request of this shape. */
export function statementsOf<Request, Row>(
  queryOf: (request: Request) => TypedQuery<Row>,
  shapeOf: (request: Request) => string,
): (request: Request) => Statement<Row> {
  const known = new Map<string, Statement<Row>>();
  return (request) => {
    const shape = shapeOf(request);
    const statement = known.get(shape) ?? statementOf(queryOf(request));
    known.set(shape, statement);
    return statement;
  };
}
