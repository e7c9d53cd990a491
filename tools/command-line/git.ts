/** Reads commits from git. */

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { PROJECT_DIRECTORY } from './project.ts';
import { UserError } from './user-error.ts';

/** Cloudflare takes tags of 25 and messages of 100 characters. */
const TAG_CHARACTERS = 12;
export const MESSAGE_CHARACTERS = 100;

/** Returns the short id of the commit, `-dirty` if files differ, and its subject line. */
export function currentCommit(): { id: string; subject: string } {
  const id = git('rev-parse', 'HEAD')?.slice(0, TAG_CHARACTERS);
  if (id === undefined) return { id: 'no-commit', subject: 'deployed without git' };
  const isDirty = git('status', '--porcelain') !== '';
  const subject = `${id} ${git('log', '-1', '--format=%s')}`;
  return { id: isDirty ? `${id}-dirty` : id, subject: subject.slice(0, MESSAGE_CHARACTERS) };
}

/** Returns the short id and the subject line of a commit; undefined if it is not here. */
export function findCommit(id: string): string | undefined {
  if (!/^[0-9a-f]{7,40}$/.test(id)) return undefined;
  const subject = git('log', '-1', '--format=%s', `${id}^{commit}`, '--');
  return subject === undefined ? undefined : `${id} ${subject}`;
}

/** Writes the files of a commit into a folder. */
export function unpackCommit(id: string, folder: string): void {
  const archive = `${folder}.tar`;
  const isDone =
    git('archive', '--output', archive, id) !== undefined &&
    spawnSync('tar', ['-xf', archive, '-C', folder]).status === 0;
  rmSync(archive, { force: true });
  if (!isDone) throw new UserError(`git and tar cannot unpack the files of ${id}`);
}

function git(...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, {
    cwd: PROJECT_DIRECTORY,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout.trim() : undefined;
}
