/**
 * The Worker of `npm run dev` on the local state of a scratch copy, in a workerd of this process.
 * It starts in a tenth of the time that `dev` takes, which builds a bundle and starts a proxy.
 */

import { join } from 'node:path';
import { createDevVars, readVars } from '../../../tools/configuration/dev-vars.ts';
import { ensureDevelopmentKeys } from '../../../tools/development/key-pair.ts';
import { buildBundle, startRuntime } from '../../../tools/workerd/runtime.ts';
import { madeOnce } from './made-once.ts';

export type ServedCopy = {
  /** Has no trailing slash. */
  origin: string;
  vars: ReadonlyMap<string, string>;
  /** The service's own. */
  database: D1Database;
  stop: () => Promise<void>;
};

/**
 * Serves the copy of the project in a directory, with the key pair for tokens that `dev` would
 * generate.
 */
export async function serveCopy(directory: string): Promise<ServedCopy> {
  createDevVars(directory);
  await ensureDevelopmentKeys(directory);
  const vars = readVars(directory);
  const script = join(await developmentBundle(), 'dev-worker.js');
  const runtime = await startRuntime(script, Object.fromEntries(vars), {
    resourcePersistencePath: join(directory, '.wrangler/state/v3'),
  });
  const { database } = runtime;
  const { origin } = runtime.url;
  return { origin, vars, database, stop: runtime.stop };
}

/** The bundle of the working copy's Worker for development, built once in a run of the tests. */
function developmentBundle(): Promise<string> {
  return madeOnce('development-bundle', async (made) => {
    await buildBundle('src/development/dev-worker.ts', made);
  });
}
