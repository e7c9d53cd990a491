/** Options that npm takes for its own when no `--` stands before them. */

import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Runs one of the project's scripts as a user does. */
function npmRun(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

it.each(['--dry-run', '--remote'])('an import does nothing when npm has kept its %s', (option) => {
  const { status, stdout, stderr } = npmRun('import-listings', 'no-such-file.json', option);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(`npm kept ${option} for itself: write -- before the arguments`);
});

it('an import gets its options after --', () => {
  const { status, stderr } = npmRun('import-listings', '--', 'no-such-file.json', '--dry-run');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringContaining('There is no file no-such-file.json'),
  });
});
