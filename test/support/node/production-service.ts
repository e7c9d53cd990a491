/** The production bundle in workerd. */

import { join } from 'node:path';
import type { V4SharedOptions } from 'miniflare';
import { migrate } from '../../../tools/database/migrations.ts';
import { buildBundle, type Runtime, startRuntime } from '../../../tools/workerd/runtime.ts';
import { TEST_VARS } from '../vars.ts';
import { madeOnce } from './made-once.ts';

/** Starts the bundle with an empty store, and the vars of tests. */
export async function startProductionService(
  vars: Readonly<Record<string, string>>,
  options: V4SharedOptions,
): Promise<Runtime> {
  const runtime = await startRuntime(await productionBundle(), { ...TEST_VARS, ...vars }, options);
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
