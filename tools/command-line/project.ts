/** The paths of the project's files, and the command that runs its wrangler. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

/** With these, wrangler asks nothing, reports nothing and needs no network. */
export const WRANGLER_ENVIRONMENT = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
};

/** Returns the arguments with which Node runs the project's wrangler. */
export function wranglerCommand(...args: string[]): string[] {
  return ['--no-warnings', createRequire(import.meta.url).resolve('wrangler'), ...args];
}
