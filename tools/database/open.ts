/** Opens the service's D1 database for a command. */

import { openAccount } from '../cloudflare/account.ts';
import { findDatabase } from '../cloudflare/resources.ts';
import { formatCommand } from '../command-line/environment.ts';
import type { Target } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { loadDeployment } from '../configuration/wrangler-config.ts';
import { openLocal } from './local.ts';
import { restDatabase } from './rest-database.ts';

export type WithDatabase = typeof withDatabase;

/** Opens the database for the work. */
export async function withDatabase<T>(
  { kind, environment }: Target,
  work: (database: D1Database) => Promise<T>,
): Promise<T> {
  if (kind === 'remote') return work(await openRemote(environment));
  using local = openLocal();
  return await work(local.database);
}

async function openRemote(environment: string | undefined): Promise<D1Database> {
  const deployment = loadDeployment(environment);
  const account = await openAccount(deployment.accountId);
  const found = await findDatabase(account, deployment.databaseName);
  if (found !== undefined) return restDatabase(account, found.uuid);
  throw new UserError(
    `the account has no D1 database ${deployment.databaseName}: run \`${formatCommand(environment, 'deploy')}\` first`,
  );
}
