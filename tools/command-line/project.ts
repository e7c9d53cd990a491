/** Where this project's files are, and how its own tools are run. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The directory of package.json; commands work from anywhere. */
export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

export const WRANGLER_CONFIG = join(PROJECT_DIRECTORY, 'wrangler.toml');
export const MIGRATIONS_DIRECTORY = join(PROJECT_DIRECTORY, 'migrations');
export const SAMPLE_LISTINGS = join(import.meta.dirname, '..', 'samples', 'listings.json');

/** What wrangler keeps between runs: databases and the like, the same for `dev` and for an import. */
export const STATE_DIRECTORY = join(PROJECT_DIRECTORY, '.wrangler', 'state', 'v3');

/** The D1 binding of wrangler.toml. */
export const DATABASE_BINDING = 'DB';

/** Settings under which wrangler asks nothing, reports nothing and needs no network. */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/** Arguments to Node that run the project's wrangler. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}

/** Something that the user can put right: shown as one line, without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}
