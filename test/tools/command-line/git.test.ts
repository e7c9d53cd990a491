import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readGit } from '../../../tools/command-line/git.ts';
import { letGitRefuse, skipWithoutGit } from '../../support/node/git.ts';

const folder = mkdtempSync(join(tmpdir(), 'git-'));
const path = (name: string) => join(folder, name);

beforeEach(() => {
  skipWithoutGit();
  git('init', '-q', 'repository');
  for (const subject of ['first', 'second']) {
    git('-C', 'repository', 'commit', '-q', '--allow-empty', '-m', subject);
  }
  mkdirSync(path('repository/inner'));
  git('-C', 'repository', 'worktree', 'add', '-q', '../worktree');
});
afterEach(() => {
  vi.unstubAllEnvs();
  for (const name of ['repository', 'worktree']) rmSync(path(name), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true }));

function git(...args: string[]): void {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  execFileSync('git', [...identity, ...args], { cwd: folder });
}

const subjectIn = (name: string) => readGit(path(name), 'log', '-1', '--format=%s');

it('reads a repository, a folder in it, a worktree and a shallow clone', () => {
  git('clone', '-q', '--depth=1', `file://${path('repository')}`, 'shallow');
  const read = ['repository', 'repository/inner', 'worktree', 'shallow'].map(subjectIn);
  expect(read).toEqual(['second', 'second', 'second', 'second']);
});

it('knows nothing of a folder in no repository, and without git', () => {
  expect(readGit(folder, 'log')).toBeUndefined();
  vi.stubEnv('PATH', folder);
  expect(subjectIn('repository')).toBeUndefined();
});

it.each<[words: string, name: string, arrange: () => void]>([
  ['fatal: detected dubious ownership in repository at', 'repository', letGitRefuse],
  ['fatal: detected dubious ownership in repository at', 'worktree', letGitRefuse],
  ['fatal: ', 'repository', () => writeFileSync(path('repository/.git/HEAD'), '')],
  ['fatal: ', 'worktree', () => writeFileSync(path('worktree/.git'), 'gitdir: /gone')],
])('throws in the words of git: %s (%s)', (words, name, arrange) => {
  arrange();
  expect(() => subjectIn(name)).toThrow(words);
});
