import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentCommit } from '../../../tools/command-line/git.ts';

const SUBJECT = `deploy: ${'a long subject '.repeat(10)}`.trim();
let directory: string;

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd: directory, encoding: 'utf8' }).trim();
}

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'repository-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('the commit that names a version', () => {
  it('is missing outside of a repository', () => {
    const nobody = { id: 'no-commit', subject: 'deployed without git' };
    expect(currentCommit(directory)).toEqual(nobody);
  });

  it('is the current commit, with a mark when files differ', () => {
    git('init', '--quiet');
    writeFileSync(join(directory, 'file'), 'one');
    git('add', 'file');
    git('commit', '--quiet', '--message', SUBJECT);
    const id = git('rev-parse', 'HEAD').slice(0, 12);
    const subject = `${id} ${SUBJECT}`.slice(0, 100);
    expect(currentCommit(directory)).toEqual({ id, subject });
    writeFileSync(join(directory, 'file'), 'two');
    expect(currentCommit(directory)).toEqual({ id: `${id}-dirty`, subject });
  });
});
