/** `npm run deploy`: migrates the remote database, then deploys. A step that fails is the last one. */

import { spawnSync } from 'node:child_process';
import { applyMigrations } from './migrations.ts';
import { PROJECT_DIRECTORY, UserError, WRANGLER_ENVIRONMENT, wranglerCommand } from './project.ts';

try {
  applyMigrations('remote');
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(`Not deployed: ${error.message}.`);
  process.exit(1);
}

const { status } = spawnSync(process.execPath, wranglerCommand('deploy'), {
  cwd: PROJECT_DIRECTORY,
  env: { ...process.env, ...WRANGLER_ENVIRONMENT },
  stdio: 'inherit',
});
process.exit(status ?? 1);
