/**
 * A D1 database over Cloudflare's REST API, with the interface of the Worker's binding. A batch is
 * one request and one transaction. It needs the right to D1 alone: wrangler's remote bindings would
 * put a Worker on the account.
 */

import * as z from 'zod';
import type { Account } from './account.ts';
import { withTextParameters } from './placeholders.ts';

/** Of a response, only the rows are used. */
const results = z.array(
  z.looseObject({ results: z.array(z.record(z.string(), z.unknown())).default([]) }),
);

export type Query = { sql: string; params: string[] };

/** Sends queries to D1's REST interface, or to a replacement of it. */
type Post = (
  body: Query | { batch: Query[] },
) => Promise<readonly { results: Record<string, unknown>[] }[]>;

export function restDatabase(account: Account, databaseId: string): D1Database {
  const path = `${account.path}/d1/database/${databaseId}/query`;
  return databaseOver((body) => account.api.call(results, 'POST', path, { body }));
}

export function databaseOver(post: Post): D1Database {
  return {
    prepare: (sql) => new RestStatement(post, sql, []),
    async batch<T>(statements: D1PreparedStatement[]) {
      const batch = statements.map((statement) => {
        if (statement instanceof RestStatement) return statement.query();
        throw new Error('the statement is of another database');
      });
      const all = await post({ batch });
      return all.map(({ results }) => d1ResultOf<T>(results));
    },
    exec: notCovered,
    withSession: notCovered,
    dump: notCovered,
  };
}

function notCovered(): never {
  throw new Error('this method is not covered over the REST interface of D1');
}

class RestStatement implements D1PreparedStatement {
  readonly #post: Post;
  readonly #sql: string;
  readonly #values: readonly unknown[];

  constructor(post: Post, sql: string, values: readonly unknown[]) {
    this.#post = post;
    this.#sql = sql;
    this.#values = values;
  }

  query(): Query {
    return withTextParameters(this.#sql, this.#values);
  }

  bind(...values: unknown[]): D1PreparedStatement {
    return new RestStatement(this.#post, this.#sql, values);
  }

  async all<T = Record<string, unknown>>(): Promise<D1Result<T>> {
    const [result] = await this.#post(this.query());
    if (result === undefined) throw new Error('D1 gave no result');
    return d1ResultOf<T>(result.results);
  }

  run<T = Record<string, unknown>>(): Promise<D1Result<T>> {
    return this.all<T>();
  }

  async first<T = unknown>(column?: string): Promise<T | null> {
    const { results } = await this.all<Record<string, unknown>>();
    const [row] = results;
    if (row === undefined) return null;
    return (column === undefined ? row : row[column]) as T;
  }

  raw = notCovered;
}

/** As with the binding, the caller states the type of the rows. There is no metadata. */
function d1ResultOf<T>(rows: readonly unknown[]): D1Result<T> {
  return { success: true, results: rows as T[], meta: {} as D1Meta } as D1Result<T>;
}
