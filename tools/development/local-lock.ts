/** The lock of the local database: SQLite's lock of a file, which ends with its process. */

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { UserError, withPath } from '../command-line/user-error.ts';

const LOCK_FILE = join(PROJECT_DIRECTORY, '.wrangler', 'lock.sqlite');
const PAUSE_MS = 100;
/** Longer than a large import takes. */
const MAX_WAIT_MS = 120_000;
const SQLITE_BUSY = 5;

/** Does the work under the lock. Throws a `UserError` if it is not free in two minutes. */
export async function withLocalLock<T>(work: () => Promise<T>, file = LOCK_FILE): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const lock = withPath(file, () => new DatabaseSync(file, { timeout: 0 }));
  try {
    const deadline = performance.now() + MAX_WAIT_MS;
    while (!withPath(file, () => isTaken(lock))) {
      if (performance.now() >= deadline) {
        throw new UserError(
          'another program has been writing to the local database for two minutes: try again when it has ended',
        );
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return await work();
  } finally {
    lock.close();
  }
}

function isTaken(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}
