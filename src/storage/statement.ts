/**
 * SQL statements, of Drizzle's builder where it can express them. Constant ones are compiled once per
 * isolate, and lists with filters for each request: 0.1 ms.
 */

import { fillPlaceholders, type Query, SQL, sql } from 'drizzle-orm';
import { QueryBuilder, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';

const dialect = new SQLiteAsyncDialect();

export const queryBuilder = new QueryBuilder(dialect);

export const placeholder = (name: string) => sql`${sql.placeholder(name)}`;

/** Name of a `placeholder` → value. A value without a placeholder may be undefined. */
export type Values = Readonly<Record<string, string | number | null | undefined>>;

type Connection = Pick<D1Database, 'prepare'>;

export type Statement<Row> = {
  bindTo(connection: Connection, values: Values): D1PreparedStatement;
  rows(connection: Connection, values: Values): Promise<Row[]>;
};

/** A query of Drizzle's builder, or whole SQL. Columns have their names of the database. */
type TypedQuery<Row> = SQL<Row> | { toSQL(): Query; readonly _: { readonly result: Row[] } };

/** Compiles the query at its first use: a constant statement is not compiled at the start. */
export function createStatement<Row>(query: TypedQuery<Row>): Statement<Row> {
  let compiled: Query | undefined;
  const bindTo = (connection: Connection, values: Values) => {
    compiled ??= query instanceof SQL ? dialect.sqlToQuery(query) : query.toSQL();
    return connection.prepare(compiled.sql).bind(...fillPlaceholders(compiled.params, values));
  };
  return {
    bindTo,
    rows: async (connection, values) => (await bindTo(connection, values).all<Row>()).results,
  };
}
