/** The lock of commands that write to the local database. It ends with its process. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PROJECT_DIRECTORY } from './project.ts';
import { UserError, withPath } from './user-error.ts';

const LOCK_FILE = join(PROJECT_DIRECTORY, '.wrangler', 'lock.sqlite');
const PAUSE_MS = 100;
/** A shorter wait is not reported. */
const SILENT_MS = 1_000;
/** Longer than a large import takes. */
const MAX_WAIT_MS = 120_000;
const SQLITE_BUSY = 5;

/** Does the work under the lock. Throws a `UserError` if it is not free in two minutes. */
export async function withLocalLock<T>(work: () => Promise<T>, file = LOCK_FILE): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  using lock = withPath(file, () => new DatabaseSync(file, { timeout: 0 }));
  // The locked file cannot be read.
  const holderFile = `${file}.holder`;
  const startedAt = performance.now();
  let isReported = false;
  while (!withPath(file, () => tryAcquire(lock))) {
    const waitedMs = performance.now() - startedAt;
    if (waitedMs >= MAX_WAIT_MS) {
      throw new UserError(
        `${readHolder(holderFile)} has been writing to the local database for two minutes: try again when it has ended`,
      );
    }
    if (waitedMs >= SILENT_MS && !isReported) {
      isReported = true;
      console.error(`Waiting for ${readHolder(holderFile)}, which writes to the local database.`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  writeHolder(holderFile);
  return await work();
}

function tryAcquire(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

/** On a full disk there is no name, and the work may be what frees the disk. */
function writeHolder(file: string): void {
  try {
    writeFileSync(file, `${basename(process.argv[1] ?? '', '.ts')} (process ${process.pid})`);
  } catch {}
}

/** Returns e.g. `import-listings (process 4711)`. */
function readHolder(file: string): string {
  const unknown = 'another program';
  try {
    return readFileSync(file, 'utf8') || unknown;
  } catch {
    return unknown;
  }
}
