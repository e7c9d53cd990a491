import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from './user-error.ts';

/**
 * Runs git and returns its output. Returns undefined if git is not installed, or if the folder is
 * outside a repository, such as an unpacked archive. Throws a `UserError` with git's message if git
 * fails, e.g. in a checkout that another user owns. Returning undefined would then wrongly mean
 * that there is no commit.
 */
export function readGit(directory: string, ...args: string[]): string | undefined {
  if (!isInRepository(directory)) return undefined;
  const { error, status, stdout, stderr } = spawnSync('git', args, {
    cwd: directory,
    encoding: 'utf8',
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return undefined;
  if (error !== undefined) throw error;
  // The command is on a separate line, because git's message can end with a command to copy.
  if (status !== 0) throw new UserError(`${stderr.trim()}\n(printed by \`git ${args[0]}\`)`);
  return stdout.trim();
}

function isInRepository(directory: string): boolean {
  const parent = dirname(directory);
  return existsSync(join(directory, '.git')) || (parent !== directory && isInRepository(parent));
}
