/** Opens the service's D1 database for a command. */

import { openAccount, requireRights } from '../cloudflare/account.ts';
import { getDatabase } from '../cloudflare/resources.ts';
import { restDatabase } from '../cloudflare/rest-database.ts';
import { STATE_DIRECTORY } from '../command-line/project.ts';
import type { Target } from '../command-line/target.ts';
import { deploymentOf, readWranglerConfig } from '../command-line/wrangler-config.ts';
import { inLocalTurn } from '../development/local-turn.ts';
import { superviseRuntime } from './runtime.ts';

/** The id of the local database. `dev` uses the same one, because wrangler.toml has it as `preview_database_id`. */
const LOCAL_ID = 'DB';

const BUSY_WARNING = /workerd\/util\/sqlite\.c\+\+.*SQLITE_BUSY/s;

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** `local`: the database that `dev` serves. `empty`: a database in memory. `remote`: the deployed database. */
export type DatabaseKind = 'local' | 'empty' | 'remote';

/** Opens the database. The caller closes it. `environment` chooses among the deployed databases. */
export async function openDatabase(
  kind: DatabaseKind,
  environment?: string,
): Promise<OpenDatabase> {
  if (kind === 'remote') return openRemote(environment);
  return openState(kind === 'local' ? STATE_DIRECTORY : undefined);
}

/** Does work on the database of a target, and then closes the database. */
export type WithDatabase = <T>(
  target: Target,
  work: (database: D1Database) => Promise<T>,
) => Promise<T>;

/** Opens the database of a target for the work, the local one when it is this program's turn. */
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
  return kind === 'remote' ? openAndWork() : inLocalTurn(openAndWork);
};

/** Finds the deployed database by its name. It needs the right to D1, and creates nothing on the account. */
async function openRemote(environment: string | undefined): Promise<OpenDatabase> {
  const deployment = deploymentOf(readWranglerConfig(), environment);
  const account = await openAccount(deployment);
  await requireRights(account, ['d1']);
  const database = restDatabase(account, await getDatabase(account, deployment));
  return { database, close: async () => {} };
}

/**
 * Opens the local database in a state directory, or without a directory a database in memory. The caller closes it.
 * Miniflare is what wrangler opens it with. Wrangler itself takes a second to load.
 */
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

/**
 * Hides workerd's warnings that the database is busy, because busy calls are repeated. Returns a function that shows
 * the warnings again.
 */
function silenceBusyWarnings(): () => void {
  const { error } = console;
  console.error = (...args: unknown[]) => {
    if (!BUSY_WARNING.test(String(args[0]))) error(...args);
  };
  return () => {
    console.error = error;
  };
}

/** Returns the name of a database, which stands in its backups. */
export function nameOfDatabase({ kind, environment }: Target): string {
  return kind === 'local' ? 'local' : deploymentOf(readWranglerConfig(), environment).databaseName;
}
