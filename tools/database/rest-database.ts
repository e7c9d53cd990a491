/** A deployed database over Cloudflare's REST API. A batch is one request. */

import * as z from 'zod';
import type { Account } from '../cloudflare/account.ts';
import { databaseOver } from './d1.ts';

/** Of a response, only the rows are used. */
const response = z.array(
  z.object({ results: z.array(z.record(z.string(), z.unknown())).default([]) }),
);

export function restDatabase({ call }: Account, databaseId: string): D1Database {
  return databaseOver(async (queries) => {
    const batch = queries.map(({ sql, values }) => withTextParameters(sql, values));
    const body = batch.length === 1 ? batch[0] : { batch };
    const all = await call(response, 'POST', `/d1/database/${databaseId}/query`, body);
    return all.map(({ results }) => results);
  });
}

/** Skips texts, quoted names and comments; finds `?` and `?1`. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\/|\?(\d*)/g;

/** The interface takes texts alone: `a = ?, b = ?` becomes `a = ?1, b = (5)`. */
export function withTextParameters(
  sql: string,
  values: readonly unknown[],
): { sql: string; params: string[] } {
  const params: string[] = [];
  const literals = values.map((value) =>
    typeof value === 'string' ? `?${params.push(value)}` : formatLiteral(value),
  );
  let last = 0;
  const written = sql.replace(TOKEN, (token, digits: string | undefined) => {
    if (digits === undefined) return token;
    last = digits === '' ? last + 1 : Number(digits);
    const literal = literals[last - 1];
    if (literal !== undefined) return literal;
    throw new Error(`the statement has a parameter ${last}, and ${values.length} values`);
  });
  return { sql: written, params };
}

function formatLiteral(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return value ? '1' : '0';
  // In parentheses: a minus sign after another one would begin a comment.
  if (typeof value === 'number' && Number.isFinite(value)) return `(${value})`;
  throw new Error(`D1 cannot bind a ${typeof value}`);
}
