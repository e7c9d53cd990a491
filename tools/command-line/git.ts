/** The commit that is checked out, to name a version by. */

import { spawnSync } from 'node:child_process';
import { PROJECT_DIRECTORY } from './project.ts';

/** Cloudflare takes tags of 25 and messages of 100 characters. */
const TAG_CHARACTERS = 12;
const MESSAGE_CHARACTERS = 100;

/** Returns the short id of the commit, with `-dirty` when files differ from it, and its subject line. */
export function currentCommit(directory = PROJECT_DIRECTORY): { id: string; subject: string } {
  const id = git(directory, 'rev-parse', 'HEAD')?.slice(0, TAG_CHARACTERS);
  if (id === undefined) return { id: 'no-commit', subject: 'deployed without git' };
  const isDirty = git(directory, 'status', '--porcelain') !== '';
  const subject = git(directory, 'log', '-1', '--format=%s') ?? '';
  return {
    id: isDirty ? `${id}-dirty` : id,
    subject: `${id} ${subject}`.slice(0, MESSAGE_CHARACTERS),
  };
}

function git(directory: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout.trim() : undefined;
}
