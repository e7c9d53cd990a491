/**
 * Directories that are made once in a run of the tests: the first test that needs one fills it, and
 * the others wait.
 */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject, vi } from 'vitest';

/** Longer than a bundle takes on a busy machine. */
const DEADLINE_MS = 100_000;

/** Returns the directory of that name, which `fill` has filled. */
export async function makeOnce(
  name: string,
  fill: (directory: string) => Promise<void>,
): Promise<string> {
  const made = join(inject('runDirectory'), name);
  const unfinished = `${made}.unfinished`;
  if (!existsSync(made) && isFirst(`${made}.lock`)) {
    mkdirSync(unfinished);
    await fill(unfinished);
    renameSync(unfinished, made);
  }
  await vi.waitUntil(() => existsSync(made), { timeout: DEADLINE_MS });
  return made;
}

function isFirst(directory: string): boolean {
  try {
    mkdirSync(directory);
    return true;
  } catch {
    return false;
  }
}
