/** A deployed database over Cloudflare's REST API. A batch is one request. */

import * as z from 'zod';
import type { Account } from '../cloudflare/account.ts';
import { databaseOver } from './d1.ts';
import { withTextParameters } from './placeholders.ts';

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
