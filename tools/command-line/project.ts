/** The paths of the project's files. */

import { join } from 'node:path';

export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

/** e.g. `backups/local-2026-11-21T12-00-00-000Z.sql` */
export function datedPath(name: string, ending: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return join(PROJECT_DIRECTORY, 'backups', `${name}-${time}.${ending}`);
}
