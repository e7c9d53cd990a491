/**
 * Shares directories between all tests of a run. The first test that needs a directory fills it.
 */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject, vi } from 'vitest';

/** Maximum wait for a directory. It is longer than a busy computer needs to build a bundle. */
const DEADLINE_MS = 100_000;

/**
 * Returns the path of a directory. The first caller fills the directory while all other callers
 * wait.
 */
export async function makeOnce(
  name: string,
  fill: (directory: string) => Promise<void>,
): Promise<string> {
  const directory = join(inject('runDirectory'), name);
  const unfinished = `${directory}.unfinished`;
  if (!existsSync(directory) && isFirst(`${directory}.lock`)) {
    mkdirSync(unfinished);
    await fill(unfinished);
    renameSync(unfinished, directory);
  }
  await vi.waitUntil(() => existsSync(directory), { timeout: DEADLINE_MS });
  return directory;
}

function isFirst(directory: string): boolean {
  try {
    mkdirSync(directory);
    return true;
  } catch {
    return false;
  }
}
