/** Opens the service's D1 database for a command. */

import { openAccount, requireRights } from '../cloudflare/account.ts';
import { getDatabase } from '../cloudflare/resources.ts';
import { restDatabase } from '../cloudflare/rest-database.ts';
import { STATE_DIRECTORY } from '../command-line/project.ts';
import type { Target } from '../command-line/target.ts';
import { deploymentOf, readWranglerConfig } from '../command-line/wrangler-config.ts';
import { withLocalLock } from '../development/local-lock.ts';
import { superviseRuntime } from './runtime.ts';

/** The `preview_database_id` of wrangler.toml, which `dev` uses. */
const LOCAL_ID = 'DB';

const BUSY_WARNING = /workerd\/util\/sqlite\.c\+\+.*SQLITE_BUSY/s;

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** Opens the database that `dev` serves, one in memory or a deployed one. The caller closes it. */
export async function openDatabase(
  kind: 'local' | 'empty' | 'remote',
  environment?: string,
): Promise<OpenDatabase> {
  if (kind === 'remote') return openRemote(environment);
  return openState(kind === 'local' ? STATE_DIRECTORY : undefined);
}

export type WithDatabase = <T>(
  target: Target,
  work: (database: D1Database) => Promise<T>,
) => Promise<T>;

/** Opens the database of a target for the work, the local one in this program's turn. */
export const withDatabase: WithDatabase = async ({ kind, environment }, work) => {
  const openAndWork = async () => {
    const { database, close } = await openDatabase(kind, environment);
    try {
      return await work(database);
    } finally {
      // The work has its outcome by now, even if closing fails.
      await close().catch(() => undefined);
    }
  };
  return kind === 'remote' ? openAndWork() : withLocalLock(openAndWork);
};

async function openRemote(environment: string | undefined): Promise<OpenDatabase> {
  const deployment = deploymentOf(readWranglerConfig(), environment);
  const account = await openAccount(deployment);
  await requireRights(account, ['d1']);
  const database = restDatabase(account, await getDatabase(account, deployment));
  return { database, close: async () => {} };
}

/** Opens the database in a state directory, or one in memory, as wrangler does. The caller closes it. */
export async function openState(directory: string | undefined): Promise<OpenDatabase> {
  superviseRuntime();
  const { convertV4MiniflareOptions, Miniflare } = await import('miniflare');
  const restoreWarnings = silenceBusyWarnings();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: 'export default {}',
      d1Databases: { DB: LOCAL_ID },
      cf: false,
      ...(directory !== undefined && { resourcePersistencePath: directory }),
    }),
  );
  const close = async () => {
    await miniflare.dispose();
    restoreWarnings();
  };
  try {
    return { database: await miniflare.getD1Database('DB'), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Hides warnings about busy calls, which are repeated. Returns a function that shows the warnings again. */
function silenceBusyWarnings(): () => void {
  const { error } = console;
  console.error = (...args: unknown[]) => {
    if (!BUSY_WARNING.test(String(args[0]))) error(...args);
  };
  return () => {
    console.error = error;
  };
}

/** Returns the name of a database in its backups. */
export function nameOfDatabase({ kind, environment }: Target): string {
  return kind === 'local' ? 'local' : deploymentOf(readWranglerConfig(), environment).databaseName;
}
