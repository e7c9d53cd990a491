/** The production bundle in workerd, with its log watched. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBundle } from '../../../tools/bench/production.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from '../../../tools/bench/runtime.ts';
import { migrate } from '../../../tools/database/migrations.ts';
import { TEST_VARS } from '../vars.ts';
import { watchService } from '../watch-service-log.ts';
import { madeOnce } from './made-once.ts';

/** Starts the bundle with an empty store, as `startProduction` does, and watches the log. */
export async function startWatchedProduction(
  vars: Readonly<Record<string, string>>,
  options: RuntimeOptions = {},
): Promise<Runtime> {
  const log = watchService();
  const onLog: RuntimeOptions['onLog'] = (line) => {
    log.hear(line.message);
    options.onLog?.(line);
  };
  const script = readFileSync(await productionBundle(), 'utf8');
  const runtime = await startRuntime(script, { ...TEST_VARS, ...vars }, { ...options, onLog });
  await migrate(runtime.database);
  log.at(runtime.url.origin, vars.API_KEY ?? '');
  return runtime;
}

/** Returns the path of the bundle, which is built once in a run of the tests. */
export async function productionBundle(): Promise<string> {
  const folder = await madeOnce('production-bundle', async (made) => {
    buildBundle('src/index.ts', made);
  });
  return join(folder, 'index.js');
}
