/** Opens the service's D1 database for a command. */

import { openAccount } from '../cloudflare/account.ts';
import { getDatabase } from '../cloudflare/resources.ts';
import { withLocalLock } from '../command-line/local-lock.ts';
import type { Target } from '../command-line/target.ts';
import { loadDeployment } from '../configuration/wrangler-config.ts';
import { type OpenDatabase, openInMemory, openLocal } from './local.ts';
import { restDatabase } from './rest-database.ts';

/** Opens the local database, an empty one or a deployed one. The caller closes it. */
export async function openDatabase(
  kind: 'local' | 'empty' | 'remote',
  environment?: string,
): Promise<OpenDatabase> {
  if (kind === 'remote') return openRemote(environment);
  return kind === 'local' ? openLocal() : openInMemory();
}

export type WithDatabase = typeof withDatabase;

/** Opens the database for the work, the local one under its lock if the work writes. */
export async function withDatabase<T>(
  { kind, environment }: Target,
  work: (database: D1Database) => Promise<T>,
  access: 'read' | 'write' = 'write',
): Promise<T> {
  const openAndWork = async () => {
    const { database, close } = await openDatabase(kind, environment);
    try {
      return await work(database);
    } finally {
      // The outcome is known by now.
      await close().catch(() => undefined);
    }
  };
  return kind === 'local' && access === 'write' ? withLocalLock(openAndWork) : openAndWork();
}

async function openRemote(environment: string | undefined): Promise<OpenDatabase> {
  const deployment = loadDeployment(environment);
  const account = await openAccount(deployment);
  const database = restDatabase(account, await getDatabase(account, deployment));
  return { database, close: async () => {} };
}

/** The name in backups. */
export function nameDatabase({ kind, environment }: Target): string {
  return kind === 'local' ? 'local' : loadDeployment(environment).databaseName;
}
