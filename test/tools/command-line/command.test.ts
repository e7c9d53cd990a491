/** The commands of package.json: their usage, the arguments that they refuse, and a reader that ends early. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { readArguments } from '../../../tools/command-line/command.ts';
import { runHere } from '../../support/node/in-process.ts';
import type { ProjectCopy } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

/** The environment of a user who may not deploy. */
const NO_RIGHTS = { CLOUDFLARE_API_TOKEN: 'none', CLOUDFLARE_ACCOUNT_ID: 'none' };
/** Scripts that run another program. */
const TOOLS_OWN = ['watch', 'format', 'migration', 'types'];

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const commands = Object.keys(scripts).filter((script) => !TOOLS_OWN.includes(script));

function run(program: string, args: readonly string[]) {
  const env = { ...process.env, ...NO_RIGHTS };
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

/** For these two, 2 means that something was deployed. */
const codeOf = (script: string) => (['deploy', 'rollback'].includes(script) ? 1 : 2);

/** Runs the command of a script in this process. */
async function here(script: string, ...args: string[]) {
  Object.assign(process.env, NO_RIGHTS);
  const { command } = await import(`../../../tools/${script}.ts`);
  return runHere(command, ...args);
}

const npmRun = (...args: string[]) => run('npm', ['run', '-s', ...args]);

/** Runs the program of a script without npm, which would take half a second more. */
const program = (script: string, ...args: string[]) =>
  run(process.execPath, [`tools/${script}.ts`, ...args]);

describe('every command of package.json', () => {
  it('is the program of its name, which runs it with the arguments of the process, or known as another program', () => {
    expect(commands.length).toBeGreaterThan(10);
    for (const script of commands) {
      expect(scripts[script]).toMatch(new RegExp(`^(exec )?node tools/${script}\\.ts$`));
      const text = readFileSync(`tools/${script}.ts`, 'utf8');
      expect([script, text]).toEqual([
        script,
        expect.stringMatching(
          /^if \(import\.meta\.main\) (\{\n.*\n {2})?await runCommand\(command\);$/m,
        ),
      ]);
    }
    expect(program('deploy', '--help')).toMatchObject({ status: 0, stderr: '' });
    expect(program('deploy', '--no-such-option')).toMatchObject({ status: 1, stdout: '' });
    expect(program('dev', '--no-such-option')).toMatchObject({ status: 2, stdout: '' });
  });

  it.each(commands)(
    '%s answers --help with its usage and 0, and an unknown option with another code',
    async (script) => {
      const { code, stdout, stderr } = await here(script, '--help');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const usage = new RegExp(`^Usage: npm (run (-s )?)?${script}( |\\n)`);
      expect(stdout).toMatch(usage);
      const unknown = await here(script, '--no-such-option');
      expect(unknown).toMatchObject({ code: codeOf(script), stdout: '' });
      expect(unknown.stderr).toContain("Unknown option '--no-such-option'");
      expect(unknown.stderr.endsWith(stdout)).toBe(true);
    },
  );
});

describe('a reader that ends early', () => {
  let project: ProjectCopy;
  beforeAll(async () => {
    project = await copyWithStore('empty');
  });
  afterAll(() => project.remove());

  it('does not stop an import, or change its exit code', () => {
    const line = 'node tools/import-listings.ts tools/samples/listings.json | head -c 1';
    const { status, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: project.directory,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const query = `SELECT count(*) AS stored, sum(rendering LIKE 'pending%') AS pending FROM properties`;
    expect(project.rows(query)).toEqual([{ stored: 71, pending: 0 }]);
  });
});

describe('by npm', () => {
  it('a deployment does nothing when npm has kept its --dry-run', () => {
    const { status, stdout, stderr } = npmRun('deploy', '--dry-run');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(
      'npm kept --dry-run for itself: write -- before the arguments. Nothing was done.\n\nUsage: npm run deploy',
    );
  });

  it('an import gets its options after --', () => {
    expect(npmRun('import-listings', '--', 'no-such-file.json', '--dry-run')).toEqual({
      status: 1,
      stdout: '',
      stderr: 'There is no file no-such-file.json\nNothing was changed.\n',
    });
  });
});

describe('the arguments of a command', () => {
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
  ])('are not read when npm has kept npm_config_%s=%j', (name, value) => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    vi.stubEnv(`npm_config_${name}`, value);
    const kept = `npm kept --${name.replace('_', '-')} for itself: write -- before the arguments`;
    expect(() => read()).toThrow(kept);
    vi.stubEnv('npm_lifecycle_event', 'another');
    expect(read()).toEqual({ flag: false });
  });

  it('are read when the flag was given, or is off for npm', () => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    for (const value of ['', 'false']) {
      vi.stubEnv('npm_config_flag', value);
      expect(read('--two-words', 'a')).toEqual({ flag: false, 'two-words': 'a' });
    }
    vi.stubEnv('npm_config_flag', 'true');
    expect(read('--flag')).toEqual({ flag: true });
  });
});

it.each([
  ['deploy', '--dry-run', "Unknown option '--dry-run'. Nothing was done.\n\nUsage: "],
  ['dev', '--port', "Unknown option '--port'. Nothing was done.\n\nUsage: "],
  ['bench', 'minutes', "Unexpected argument 'minutes'. Nothing was done.\n\nUsage: "],
  ['bench', '--d1=fast', 'fast is no number of milliseconds up to 9999. Nothing was done.'],
])('%s does nothing when it is given %s', async (script, argument, message) => {
  const { code, stdout, stderr } = await here(script, argument);
  expect({ code, stdout }).toEqual({ code: codeOf(script), stdout: '' });
  expect(stderr.startsWith(message)).toBe(true);
});
