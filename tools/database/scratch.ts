/** A SQLite database of this process behind the interface of D1, for code that is written for D1. */

import type { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { databaseOver } from '../cloudflare/rest-database.ts';

const query = z.object({ sql: z.string(), params: z.array(z.string()).default([]) });
const request = z.union([z.object({ batch: z.array(query) }), query]);

/** Returns the database. Its batches are not transactions. */
export function scratchDatabase(sqlite: DatabaseSync): D1Database {
  return databaseOver(async (_path, schema, body) => {
    const parsed = request.parse(body);
    const queries = 'batch' in parsed ? parsed.batch : [parsed];
    return schema.parse(
      queries.map(({ sql, params }) => ({ results: sqlite.prepare(sql).all(...params) })),
    );
  });
}
