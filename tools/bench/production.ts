/** Builds bundles as for a deployment, and starts them in workerd. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { wranglerCommand } from '../command-line/project.ts';
import { migrate } from '../database/migrations.ts';
import { storeListings } from './fill.ts';
import { type Runtime, type RuntimeOptions, startRuntime } from './runtime.ts';
import { API_KEY, PUBLIC_SITE_URL } from './scenarios.ts';

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

/** Builds the deployed bundle. Returns its script. */
export function buildProduction(): string {
  return buildBundle('src/index.ts', join('dist', 'bench', 'production'));
}

/** Starts a script with a new database of `listings` listings. `vars` override the vars of wrangler.toml. */
export async function startWithListings(
  script: string,
  listings: number,
  vars: Readonly<Record<string, string>> = {},
  options?: RuntimeOptions,
): Promise<Runtime> {
  const runtime = await startRuntime(script, { PUBLIC_SITE_URL, API_KEY, ...vars }, options);
  await migrate(runtime.database);
  await storeListings(runtime.database, listings);
  return runtime;
}
