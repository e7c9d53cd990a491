/** The paths of the project's files, and the command that runs its wrangler. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

export const MIGRATIONS_DIRECTORY = join(PROJECT_DIRECTORY, 'migrations');
export const SAMPLE_LISTINGS = join(import.meta.dirname, '..', 'samples', 'listings.json');

/** The D1 binding of wrangler.toml. */
export const DATABASE_BINDING = 'DB';

/** Environment variables under which wrangler asks nothing, reports nothing and needs no network. */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/** Returns the arguments with which Node runs the project's wrangler. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}
