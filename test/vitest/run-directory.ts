/**
 * The directory of a test run, which its workers and their programs share. It is removed with its
 * contents when the process ends, also by a signal.
 */

import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the directory. */
    runDirectory: string;
  }
}

/** A file system in memory on Linux. */
const MEMORY = '/dev/shm';
/** More than the files of a run need. */
const ROOM_BYTES = 1_024 ** 3;

/** Vitest calls this before it starts a worker. */
export default function setup(project: TestProject): void {
  const directory = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'tests-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  process.env.TMPDIR = directory;
  project.provide('runDirectory', directory);
}

/** Whether memory has room for the hundreds of databases of a run, whose writes would wait for a disk. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}
