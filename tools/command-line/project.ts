/** The paths of the project's files, and the command that runs its wrangler. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

/** Returns a path with the current time, e.g. `backups/local-2026-11-21T12-00-00-000Z.sql`. */
export function datedPath(name: string, ending: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return join(PROJECT_DIRECTORY, 'backups', `${name}-${time}.${ending}`);
}

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
