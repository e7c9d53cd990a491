/**
 * Creates the directory that all workers and programs of a test run share. The directory is removed
 * when the process ends, even if a signal ends it.
 */

import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the directory that all workers of the run share. */
    runDirectory: string;
  }
}

/** A file system in memory. It exists only on Linux. */
const MEMORY = '/dev/shm';
/** Minimum free memory for a run's directory. The files of a run need less. */
const ROOM_BYTES = 1_024 ** 3;

/** Creates the directory. Vitest calls this function before it starts a worker. */
export default function setup(project: TestProject): void {
  const directory = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'tests-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  process.env.TMPDIR = directory;
  project.provide('runDirectory', directory);
}

/**
 * Whether the hundreds of databases of a run fit into memory. On disk, writing to them would be
 * slower.
 */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}
