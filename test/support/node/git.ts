/** git, which a machine may lack: the tests that need it are skipped there. */

import { execFileSync, spawnSync } from 'node:child_process';
import { type RunnerTestCase, TestRunner, vi } from 'vitest';
import { forgetCommit } from '../../../tools/database/operations.ts';

export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Runs git in a folder, as somebody. Returns its output. */
export function runGit(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/** Skips the test that is running. The last lines of the run say what it needs. */
export function skipWithoutGit(): void {
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(!hasGit, 'git');
}

/** Lets git refuse every repository, as in a checkout of another owner. */
export function letGitRefuse(): void {
  vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
  // test/vitest/config.ts allows it otherwise.
  vi.stubEnv('GIT_CONFIG_COUNT', '0');
  // Commands in this process may have asked it before.
  forgetCommit();
}
