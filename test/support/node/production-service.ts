/** The production bundle in workerd. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildBundle,
  type Runtime,
  type RuntimeOptions,
  startRuntime,
} from '../../../tools/bench/runtime.ts';
import { migrate } from '../../../tools/database/migrations.ts';
import { TEST_VARS } from '../vars.ts';
import { madeOnce } from './made-once.ts';

/** Starts the bundle with an empty store, and the vars of tests. */
export async function startProductionService(
  vars: Readonly<Record<string, string>>,
  options: RuntimeOptions = {},
): Promise<Runtime> {
  const script = readFileSync(await productionBundle(), 'utf8');
  const runtime = await startRuntime(script, { ...TEST_VARS, ...vars }, options);
  await migrate(runtime.database);
  return runtime;
}

/** Returns the path of the bundle, which is built once in a run of the tests. */
export async function productionBundle(): Promise<string> {
  const folder = await madeOnce('production-bundle', async (made) => {
    await buildBundle('src/index.ts', made);
  });
  return join(folder, 'index.js');
}
