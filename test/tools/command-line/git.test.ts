import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readGit } from '../../../tools/command-line/git.ts';
import { hasGit, runGit, skipWithoutGit } from '../../support/node/git.ts';

const folder = mkdtempSync(join(tmpdir(), 'git-'));
const read = (name: string) => readGit(join(folder, name), 'rev-parse', '--is-inside-work-tree');
const git = (...args: string[]) => runGit(folder, ...args);

beforeAll(() => {
  if (!hasGit) return;
  git('init', '-q', 'repository');
  git('-C', 'repository', 'commit', '-q', '--allow-empty', '-m', 'first');
});
beforeEach(skipWithoutGit);
afterEach(() => vi.unstubAllEnvs());

// test/tools/commands/deploy-checks.test.ts covers failures of git.
describe('readGit', () => {
  it('works in a worktree', () => {
    git('-C', 'repository', 'worktree', 'add', '-q', '../worktree');
    expect(read('worktree')).toBe('true');
  });

  it('works in a subfolder of a shallow clone', () => {
    git('clone', '-q', '--depth=1', `file://${join(folder, 'repository')}`, 'shallow');
    mkdirSync(join(folder, 'shallow/inner'));
    expect(['shallow', 'shallow/inner'].map(read)).toEqual(['true', 'true']);
  });

  it('returns undefined outside a repository', () => {
    expect(read('.')).toBeUndefined();
  });

  it('returns undefined if git is not installed', () => {
    vi.stubEnv('PATH', folder);
    expect(read('repository')).toBeUndefined();
  });
});
