/** Reads the working copy's state from git. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from './user-error.ts';

/**
 * Returns the output of git; undefined without git, or in a folder outside a repository, such as an
 * unpacked archive. Throws a `UserError` with git's own message if git fails, e.g. in a checkout of
 * another owner, because undefined would mean that there is no commit.
 */
export function readGit(directory: string, ...args: string[]): string | undefined {
  if (!isInRepository(directory)) return undefined;
  const { error, status, stdout, stderr } = spawnSync('git', args, {
    cwd: directory,
    encoding: 'utf8',
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return undefined;
  if (error !== undefined) throw error;
  // The source is on a line of its own, because git's message can end in a command to copy.
  if (status !== 0) throw new UserError(`${stderr.trim()}\n(printed by \`git ${args[0]}\`)`);
  return stdout.trim();
}

function isInRepository(directory: string): boolean {
  const parent = dirname(directory);
  return existsSync(join(directory, '.git')) || (parent !== directory && isInRepository(parent));
}
