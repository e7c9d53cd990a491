/** Arguments that would be lost: npm keeps options when no `--` stands before them, and some programs take none. */

import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readArguments, understand } from '../../../tools/command-line/arguments.ts';

/** The environment of a user who may not deploy. */
const NO_RIGHTS = { CLOUDFLARE_API_TOKEN: 'none', CLOUDFLARE_ACCOUNT_ID: 'none' };

function run(command: string, args: readonly string[]) {
  const env = { ...process.env, ...NO_RIGHTS };
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

const npmRun = (...args: string[]) => run('npm', ['run', '-s', ...args]);
const program = (name: string, ...args: string[]) =>
  run(process.execPath, [`tools/${name}.ts`, ...args]);

const DEPLOY_USAGE = `Usage: npm run deploy [-- [--env NAME] [--location HINT]]

  --env NAME        an environment of wrangler.toml, such as staging, instead of production
  --location HINT   where a new database is created: weur, eeur, wnam, enam, apac or oc
`;

describe('by npm', () => {
  it('a deployment does nothing when npm has kept its --dry-run', () => {
    expect(npmRun('deploy', '--dry-run')).toEqual({
      status: 2,
      stdout: '',
      stderr: `npm kept --dry-run for itself: write -- before the arguments. Nothing was done.\n\n${DEPLOY_USAGE}`,
    });
  });

  it('an import does nothing when npm has kept its --remote', () => {
    const { status, stdout, stderr } = npmRun('import-listings', 'no-such-file.json', '--remote');
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('npm kept --remote for itself: write -- before the arguments');
  });

  it('a soak does nothing when npm has kept its --seconds', () => {
    expect(npmRun('soak', '--seconds=5')).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'npm kept --seconds for itself: write -- before the arguments\nusage: npm run soak -- [--seconds 30]\n',
    });
  });

  it('an import gets its options after --', () => {
    expect(npmRun('import-listings', '--', 'no-such-file.json', '--dry-run')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'There is no file no-such-file.json\nNothing was changed.\n',
    });
  });
});

describe('a command', () => {
  const options = {
    flag: { type: 'boolean', default: false },
    'two-words': { type: 'string' },
  } as const;
  const read = (...args: string[]) => readArguments('own', args, options).values;

  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['flag', 'true'],
    ['flag', 'all'],
    ['dry_run', 'true'],
    ['two_words', 'value'],
    ['two_words', 'true'],
    ['two_words', ''],
  ])('is not run when npm has kept npm_config_%s=%j', (name, value) => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    vi.stubEnv(`npm_config_${name}`, value);
    const kept = `npm kept --${name.replace('_', '-')} for itself: write -- before the arguments`;
    expect(() => read()).toThrow(kept);
    vi.stubEnv('npm_lifecycle_event', 'another');
    expect(read()).toEqual({ flag: false });
  });

  it('is run when a flag was given to it, or npm has it off', () => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    for (const value of ['', 'false']) {
      vi.stubEnv('npm_config_flag', value);
      expect(read('--two-words', 'a')).toEqual({ flag: false, 'two-words': 'a' });
    }
    vi.stubEnv('npm_config_flag', 'true');
    expect(read('--flag')).toEqual({ flag: true });
  });

  it('says what it does not understand in one line', () => {
    const problems = [['--flags'], ['more'], ['--two-words']].map((args) =>
      understand(() => read(...args)),
    );
    expect(problems).toEqual([
      { problem: "Unknown option '--flags'" },
      {
        problem: "Unexpected argument 'more'. This command does not take positional arguments",
      },
      { problem: "Option '--two-words <value>' argument missing" },
    ]);
  });
});

it.each([
  [['--dry-run'], "Unknown option '--dry-run'"],
  [['--help'], "Unknown option '--help'"],
])('a deployment does nothing when it is given %j', (args, problem) => {
  expect(program('deploy', ...args)).toEqual({
    status: 2,
    stdout: '',
    stderr: `${problem}. Nothing was done.\n\n${DEPLOY_USAGE}`,
  });
});

it('dev does nothing when it is given an argument', () => {
  expect(program('dev', '--port', '4000')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'dev takes no arguments. Another port: PORT=4000 npm run dev\n',
  });
});

it.each([
  ['bench', '--fast', "Unknown option '--fast'"],
  ['soak', 'minutes', "Unexpected argument 'minutes'"],
])('%s measures nothing when it is given %s', (script, argument, message) => {
  const { status, stdout, stderr } = program(script, argument);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(stderr).toMatch(new RegExp(`^usage: npm run ${script} -- .*\\n$`, 'm'));
  expect(stderr).not.toContain('    at ');
});
