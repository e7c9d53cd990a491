/**
 * Makes SQL statements, with Drizzle's builder where it can express them. Constant statements are
 * compiled once per isolate. Statements of lists with filters are compiled for each request, which
 * takes 0.1 ms.
 */

import { fillPlaceholders, type Query, SQL, sql } from 'drizzle-orm';
import { QueryBuilder, SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core';

const dialect = new SQLiteAsyncDialect();

export const queryBuilder = new QueryBuilder(dialect);

export const placeholder = (name: string) => sql`${sql.placeholder(name)}`;

/** The value of each `placeholder`, by its name. */
export type Values = Readonly<Record<string, string | number | null | undefined>>;

type Connection = Pick<D1Database, 'prepare'>;

export type Statement<Row> = {
  bindTo(connection: Connection, values: Values): D1PreparedStatement;
  rows(connection: Connection, values: Values): Promise<Row[]>;
};

/** A query of Drizzle's builder, or a complete SQL statement. Result columns have the database's names. */
type TypedQuery<Row> = SQL<Row> | { toSQL(): Query; readonly _: { readonly result: Row[] } };

/** Makes a statement that is compiled at its first use, so that a new isolate starts faster. */
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
