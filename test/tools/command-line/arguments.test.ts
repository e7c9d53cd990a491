/** Arguments that would be lost: npm keeps options when no `--` stands before them, and some programs take none. */

import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Runs one of the project's scripts as a user does who may not deploy. */
function npmRun(...args: string[]) {
  const env = { ...process.env, CLOUDFLARE_API_TOKEN: 'none', CLOUDFLARE_ACCOUNT_ID: 'none' };
  const run = spawnSync('npm', ['run', '-s', ...args], { encoding: 'utf8', env });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
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

it.each([[['--dry-run']], [['--', '--dry-run']], [['--', '--help']]])(
  'a deployment does nothing when it is given %j',
  (args) => {
    expect(npmRun('deploy', ...args)).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(' Nothing was done.\n'),
    });
  },
);

it('dev does nothing when it is given an argument', () => {
  expect(npmRun('dev', '--', '--port', '4000')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'dev takes no arguments. Another port: PORT=4000 npm run dev\n',
  });
});

it.each([
  ['bench', '--fast', "Unknown option '--fast'"],
  ['bench', 'quick', "Unexpected argument 'quick'"],
  ['soak', '--minutes', "Unknown option '--minutes'"],
])('%s measures nothing when it is given %s', (script, argument, message) => {
  const { status, stdout, stderr } = npmRun(script, '--', argument);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(new RegExp(`^usage: npm run ${script} -- .*\\n$`, 'm'));
  expect(stderr).not.toContain('    at ');
});
