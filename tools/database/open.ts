/** Opens the service's D1 database, local or remote, in a command-line program. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STATE_DIRECTORY, WRANGLER_CONFIG, WRANGLER_ENVIRONMENT } from '../command-line/project.ts';
import { databaseConfig } from './database-config.ts';

const BUSY_REPORT = /workerd\/util\/sqlite\.c\+\+.*SQLITE_BUSY/s;

export type OpenDatabase = { database: D1Database; close: () => Promise<void> };

/** `local`: the state that `dev` serves. `empty`: a database in memory. `remote`: the deployed one. */
export type Place = 'local' | 'empty' | 'remote';

/** Opens the database. Whoever opens it closes it. */
export async function openDatabase(place: Place): Promise<OpenDatabase> {
  const { getPlatformProxy, unstable_readConfig } = await loadWrangler();
  const isRemote = place === 'remote';
  const config = databaseConfig(unstable_readConfig({ config: WRANGLER_CONFIG }), { isRemote });
  const directory = mkdtempSync(join(tmpdir(), 'database-config-'));
  const configPath = join(directory, 'wrangler.json');
  writeFileSync(configPath, JSON.stringify(config));
  const speakAgain = hushBusyReports();
  const cleanUp = () => {
    speakAgain();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const { env, dispose } = await getPlatformProxy<{ DB: D1Database }>({
      configPath,
      persist: place === 'local' ? { path: STATE_DIRECTORY } : false,
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
 * workerd reports each time that it finds the database busy, with a stack, on this program's console.
 * Such calls are repeated, so that says nothing to the user. Returns what undoes it.
 */
function hushBusyReports(): () => void {
  const { error } = console;
  console.error = (...args: unknown[]) => {
    if (!BUSY_REPORT.test(String(args[0]))) error(...args);
  };
  return () => {
    console.error = error;
  };
}

/** wrangler takes a second to load, so only programs that get this far load it. */
export function loadWrangler() {
  Object.assign(process.env, WRANGLER_ENVIRONMENT);
  process.env.WRANGLER_LOG ??= 'error';
  return import('wrangler');
}
