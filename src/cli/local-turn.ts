/**
 * Turns at the local database. Two programs that write to its files at once can stall each other for
 * good, as D1, which is one process, never does: imports wait for each other.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_DIRECTORY } from './project.ts';

const FOLDER = join(PROJECT_DIRECTORY, '.wrangler');
/** Holds the process id of whoever has the turn. */
const TURN = join(FOLDER, 'import.pid');
const PAUSE_MS = 100;
/** Longer than a large import takes: a file left by a process whose id is another's by now holds nobody up for ever. */
const MAX_WAIT_MS = 120_000;

/** Waits for its turn and gives what ends it. The turn of a process that has ended is nobody's. */
export async function takeLocalTurn(): Promise<() => void> {
  mkdirSync(FOLDER, { recursive: true });
  const waitUntil = Date.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      writeFileSync(TURN, String(process.pid), { flag: 'wx' });
      return () => rmSync(TURN, { force: true });
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
    if (hasEnded(holder()) || Date.now() > waitUntil) rmSync(TURN, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** NaN while the file is being written or removed. */
function holder(): number {
  try {
    return Number.parseInt(readFileSync(TURN, 'utf8'), 10);
  } catch {
    return Number.NaN;
  }
}

function hasEnded(pid: number): boolean {
  if (Number.isNaN(pid)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
