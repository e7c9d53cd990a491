import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { readGit } from '../../../tools/command-line/git.ts';
import { runGit, skipWithoutGit } from '../../support/node/git.ts';

const folder = mkdtempSync(join(tmpdir(), 'git-'));
const find = (name: string) => readGit(join(folder, name), 'rev-parse', '--is-inside-work-tree');

// test/tools/commands/deploy.test.ts has what git refuses.
it('reads a worktree, a shallow clone and a folder in it, and knows nothing without a repository or git', () => {
  skipWithoutGit();
  const git = (...args: string[]) => runGit(folder, ...args);
  git('init', '-q', 'own');
  git('-C', 'own', 'commit', '-q', '--allow-empty', '-m', 'first');
  git('-C', 'own', 'worktree', 'add', '-q', '../worktree');
  git('clone', '-q', '--depth=1', `file://${join(folder, 'own')}`, 'shallow');
  mkdirSync(join(folder, 'shallow/inner'));
  const names = ['worktree', 'shallow', 'shallow/inner', '.'];
  expect(names.map(find)).toEqual(['true', 'true', 'true', undefined]);
  vi.stubEnv('PATH', folder);
  expect(find('own')).toBeUndefined();
});
