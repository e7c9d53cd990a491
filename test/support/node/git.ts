/** Runs git. Tests that need git are skipped if it is not installed. */

import { execFileSync, spawnSync } from 'node:child_process';
import { type RunnerTestCase, TestRunner, vi } from 'vitest';
import { forgetCommit } from '../../../tools/database/operations.ts';

export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Runs git in a folder under a fixed identity and returns the output. */
export function runGit(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/**
 * Skips the current test if git is not installed. The summary of the test run then names git as
 * missing.
 */
export function skipWithoutGit(): void {
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(!hasGit, 'git');
}

/** Makes git reject every repository, like a checkout that belongs to another user. */
export function letGitRefuse(): void {
  vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
  // Undoes a setting in test/vitest/config.ts, which trusts every repository.
  vi.stubEnv('GIT_CONFIG_COUNT', '0');
  // An earlier command in this process may have cached the commit.
  forgetCommit();
}
