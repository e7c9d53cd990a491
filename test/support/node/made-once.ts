/**
 * Directories that are made once in a run of the tests: the first test that needs one fills it, and
 * the others wait.
 */

import { existsSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { withLocalLock } from '../../../tools/command-line/local-lock.ts';

/** Returns the directory of that name, which `fill` has filled. */
export async function madeOnce(
  name: string,
  fill: (directory: string) => Promise<void>,
): Promise<string> {
  const made = join(inject('runDirectory'), name);
  await withLocalLock(async () => {
    if (existsSync(made)) return;
    const unfinished = mkdtempSync(`${made}-`);
    await fill(unfinished);
    renameSync(unfinished, made);
  }, `${made}.turn`);
  return made;
}
