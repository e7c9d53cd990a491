/** Opens the service's D1 database for a command. */

import { openAccount } from '../cloudflare/account.ts';
import { getDatabase } from '../cloudflare/resources.ts';
import type { Target } from '../command-line/target.ts';
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
  const account = await openAccount(deployment);
  return restDatabase(account, await getDatabase(account, deployment));
}

/** The name in backups. */
export function nameDatabase({ kind, environment }: Target): string {
  return kind === 'local' ? 'local' : loadDeployment(environment).databaseName;
}
