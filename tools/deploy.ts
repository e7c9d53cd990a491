/**
 * `npm run deploy`: migrates the remote database, then deploys. It stops at the first step that fails.
 *
 * Exits with 0 when the service is deployed, 2 when it was given an argument (which could have asked
 * for less: `--dry-run`), and another status when it failed.
 */

import { spawnSync } from 'node:child_process';
import { findKeptOption } from './command-line/npm.ts';
import {
  PROJECT_DIRECTORY,
  UserError,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from './command-line/project.ts';
import { applyMigrations } from './database/migrations.ts';

if (process.argv.length > 2 || findKeptOption('deploy', ['dry-run']) !== undefined) {
  console.error('deploy takes no arguments. Nothing was done.');
  process.exit(2);
}

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
