/** Directories that are filled once per test run, by the first test that needs them. */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject, vi } from 'vitest';

/** Longer than building a bundle takes on a busy computer. */
const DEADLINE_MS = 100_000;

/** Returns a directory. The first caller fills it, and the others wait. */
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
