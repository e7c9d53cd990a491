/** Opens the service's D1 database for a command. */

import { openAccount } from '../cloudflare/account.ts';
import { getDatabase } from '../cloudflare/resources.ts';
import { withLocalLock } from '../command-line/local-lock.ts';
import type { Target } from '../command-line/target.ts';
import { loadDeployment } from '../configuration/wrangler-config.ts';
import { type OpenDatabase, openInMemory, openLocal } from './local.ts';
import { restDatabase } from './rest-database.ts';

/** Opens the database that `dev` serves, one in memory or a deployed one. The caller closes it. */
export async function openDatabase(
  kind: 'local' | 'empty' | 'remote',
  environment?: string,
): Promise<OpenDatabase> {
  if (kind === 'remote') return openRemote(environment);
  return kind === 'local' ? openLocal() : openInMemory();
}

export type WithDatabase = typeof withDatabase;

/** Opens the database for the work. Work that writes waits for the lock of the local database. */
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
      // The work has its outcome by now, even if closing fails.
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

/** Returns the name of a database in its backups. */
export function nameOfDatabase({ kind, environment }: Target): string {
  return kind === 'local' ? 'local' : loadDeployment(environment).databaseName;
}
