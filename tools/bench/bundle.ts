/** The bundle that a deploy would upload. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { wranglerCommand } from '../command-line/project.ts';

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
