/**
 * The directory of one run of the tests, which its workers share. Removed when all tests have run.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the directory. */
    runDirectory: string;
  }
}

/**
 * Makes the directory before the first test. Vitest calls the returned function after the last
 * test.
 */
export default function setup(project: TestProject): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'tests-'));
  project.provide('runDirectory', directory);
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
