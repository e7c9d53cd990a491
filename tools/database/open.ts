/** The service's D1 database in a command-line program. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STATE_DIRECTORY, WRANGLER_CONFIG, WRANGLER_ENVIRONMENT } from '../command-line/project.ts';
import { databaseConfig } from './database-config.ts';
import { superviseRuntime } from './runtime.ts';

const BUSY_WARNING = /workerd\/util\/sqlite\.c\+\+.*SQLITE_BUSY/s;

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** `local`: the state that `dev` serves. `empty`: a database in memory. `remote`: the deployed one. */
export type DatabaseKind = 'local' | 'empty' | 'remote';

/** Opens the database. The caller closes it. */
export async function openDatabase(kind: DatabaseKind): Promise<OpenDatabase> {
  const { getPlatformProxy, unstable_readConfig } = await loadWrangler();
  const isRemote = kind === 'remote';
  const config = databaseConfig(unstable_readConfig({ config: WRANGLER_CONFIG }), { isRemote });
  const directory = mkdtempSync(join(tmpdir(), 'database-config-'));
  const configPath = join(directory, 'wrangler.json');
  writeFileSync(configPath, JSON.stringify(config));
  const restoreWarnings = silenceBusyWarnings();
  const cleanUp = () => {
    restoreWarnings();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const { env, dispose } = await getPlatformProxy<{ DB: D1Database }>({
      configPath,
      persist: kind === 'local' ? { path: STATE_DIRECTORY } : false,
      remoteBindings: isRemote,
    });
    return {
      database: env.DB,
      close: async () => {
        await dispose();
        cleanUp();
      },
    };
  } catch (error) {
    cleanUp();
    throw error;
  }
}

/**
 * Hides workerd's warnings that the database is busy: those calls are repeated, so the user need not
 * know. Returns a function that shows them again.
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

/** Loads wrangler, which takes a second: only programs that need it pay for it. */
export function loadWrangler() {
  Object.assign(process.env, WRANGLER_ENVIRONMENT);
  superviseRuntime();
  process.env.WRANGLER_LOG ??= 'error';
  return import('wrangler');
}
