/** The production bundle, built as for a deploy, in workerd with a store of its own. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateInMemory } from '../database/migrations.ts';
import { buildBundle } from './bundle.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';

const MAIN = 'src/index.ts';

/** Builds the bundle, starts it and migrates its database. `vars` are added to those of wrangler.toml. */
export async function startProduction(
  vars: Readonly<Record<string, string>>,
  options?: RuntimeOptions,
): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), 'production-'));
  try {
    const runtime = await startRuntime(buildBundle(MAIN, folder), vars, options);
    await migrateInMemory(runtime.database);
    return runtime;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
