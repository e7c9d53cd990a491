/** Builds the production bundle as for a deployment, and starts it in workerd with an empty store. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { wranglerCommand } from '../command-line/project.ts';
import { migrate } from '../database/migrations.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';

/** Builds `main` with the bindings and settings of wrangler.toml into `folder`. Returns its script. */
export function buildBundle(main: string, folder: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    wranglerCommand('deploy', main, '--dry-run', '--outdir', folder),
    { encoding: 'utf8', env: { ...process.env, WRANGLER_SEND_METRICS: 'false' } },
  );
  if (status !== 0) throw new Error(`wrangler failed:\n${stdout}${stderr}`);
  return readFileSync(join(folder, basename(main).replace(/ts$/, 'js')), 'utf8');
}

/** Builds the bundle, starts it and migrates its database. `vars` override the vars of wrangler.toml. */
export async function startProduction(
  vars: Readonly<Record<string, string>>,
  options?: RuntimeOptions,
): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), 'production-'));
  try {
    const runtime = await startRuntime(buildBundle('src/index.ts', folder), vars, options);
    await migrate(runtime.database);
    return runtime;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
