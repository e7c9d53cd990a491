/**
 * The directory of one run of the tests, which its workers and the programs that they start share.
 * Removed when the process ends, also by a signal, with the folders that tests leave in it.
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

/** A file system in memory, on Linux. */
const MEMORY = '/dev/shm';
/** More than the files of a run take. */
const ROOM_BYTES = 1_024 ** 3;

/** Vitest calls this before it starts a worker. */
export default function setup(project: TestProject): void {
  const directory = mkdtempSync(join(hasRoomInMemory() ? MEMORY : tmpdir(), 'tests-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  process.env.TMPDIR = directory;
  project.provide('runDirectory', directory);
}

/** Tests make hundreds of databases, whose writes would wait for a disk. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return Math.min(bavail * bsize, freemem()) > ROOM_BYTES;
  } catch {
    return false;
  }
}
