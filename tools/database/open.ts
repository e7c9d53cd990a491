/** Opens the service's D1 database for a command. */

import * as z from 'zod';
import { type Account, openAccount } from '../cloudflare/account.ts';
import { findDatabase } from '../cloudflare/resources.ts';
import { formatCommand } from '../command-line/environment.ts';
import type { Target } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { loadDeployment } from '../configuration/deployment.ts';
import { createD1Database } from './d1.ts';
import { openLocal, wrapSqlite } from './local.ts';

export type WithDatabase = typeof withDatabase;

export async function withDatabase<T>(
  { kind, environment }: Target,
  work: (database: D1Database) => Promise<T>,
): Promise<T> {
  if (kind === 'local') {
    using sqlite = openLocal();
    return await work(wrapSqlite(sqlite));
  }
  const deployment = loadDeployment(environment);
  const account = await openAccount(deployment.accountId);
  const record = await findDatabase(account, deployment.databaseName);
  if (record !== undefined) return work(createRestDatabase(account, record.uuid));
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}. Run \`${formatCommand(environment, 'deploy')}\` first`,
  );
}

const response = z.array(
  z.object({ results: z.array(z.record(z.string(), z.unknown())).default([]) }),
);

/**
 * Returns a deployed database that is accessed through Cloudflare's REST API, with one request per
 * batch.
 */
export function createRestDatabase({ call }: Account, databaseId: string): D1Database {
  return createD1Database(async (queries) => {
    const body = queries.length === 1 ? queries[0] : { batch: queries };
    const all = await call(response, 'POST', `/d1/database/${databaseId}/query`, body);
    return all.map(({ results }) => results);
  });
}
