/** git, which a machine may lack: the tests that need it are skipped there. */

import { spawnSync } from 'node:child_process';
import { type RunnerTestCase, TestRunner, vi } from 'vitest';

export const hasGit = spawnSync('git', ['--version']).status === 0;

/** Skips the test that is running. The last lines of the run say what it needs. */
export function skipWithoutGit(): void {
  TestRunner.getCurrentTest<RunnerTestCase | undefined>()?.context.skip(!hasGit, 'git');
}

/** Lets git refuse every repository, as in a checkout of another owner. */
export function letGitRefuse(): void {
  vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
  // test/vitest/config.ts allows it otherwise.
  vi.stubEnv('GIT_CONFIG_COUNT', '0');
}
