/** Runs git. Tests that need it are skipped where it is not installed. */

import { execFileSync, spawnSync } from 'node:child_process';
import { type RunnerTestCase, TestRunner, vi } from 'vitest';
import { forgetCommit } from '../../../tools/database/operations.ts';

export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Runs git in a folder with a fixed identity. Returns its output. */
export function runGit(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/** Skips the current test if git is missing. The last lines of the run name git. */
export function skipWithoutGit(): void {
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(!hasGit, 'git');
}

/** Makes git reject every repository, as it does in a checkout that belongs to another user. */
export function letGitRefuse(): void {
  vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
  // test/vitest/config.ts allows it otherwise.
  vi.stubEnv('GIT_CONFIG_COUNT', '0');
  // An earlier command in this process may have cached the commit.
  forgetCommit();
}
