/**
 * The commands of package.json, with their usage, the arguments that they reject, and readers that close
 * the output early.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { declare, readArguments } from '../../../tools/command-line/command.ts';
import { pathFor } from '../../../tools/command-line/project.ts';
import { resolveTarget } from '../../../tools/command-line/target.ts';
import { runHere } from '../../support/node/in-process.ts';
import { copyWithStore } from '../../support/node/stores.ts';

/** Scripts that run another program. */
const OTHER_SCRIPTS = ['test', 'watch', 'format', 'migration', 'types'];

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const commands = Object.keys(scripts).filter((script) => !OTHER_SCRIPTS.includes(script));

const KEY = ['--name', 'site', '--scope', 'feed:read'];

const getRejectionCode = (script: string) => (script === 'deploy' ? 1 : 2);

/** Runs the command of a script in this process, as a user who may not deploy. */
async function runScript(script: string, ...args: string[]) {
  vi.stubEnv('CLOUDFLARE_API_TOKEN', 'none');
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'none');
  const { command } = await import(`../../../tools/commands/${script}.ts`);
  return runHere(command, ...args);
}

afterEach(() => vi.unstubAllEnvs());

describe.each(commands)('npm run %s', (script) => {
  it('runs the program of its name with the arguments of the process', () => {
    expect(scripts[script]).toMatch(
      new RegExp(`^(exec )?node --import \\./tools/own-node\\.js tools/commands/${script}\\.ts$`),
    );
    expect(readFileSync(`tools/commands/${script}.ts`, 'utf8')).toMatch(
      // It is the last line, because later constants would not be initialised yet.
      /\nif \(import\.meta\.main\) await runCommand\(command\);\n$/,
    );
  });

  it('prints its usage', async () => {
    const { code, stdout, stderr } = await runScript(script, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run (-s )?${script} -- .*\n\n[A-Z]`));
    expect(stdout).toMatch(/\n\nChanges: [\s\S]*\.\nExit codes: 0 .*\.\nExample: .*npm .*\n\n/);
  });

  it('rejects an unknown option with the first line of its usage', async () => {
    const { stdout } = await runScript(script, '--help');
    const unknown = await runScript(
      script,
      '--no-such-option',
      ...(script === 'api-key' ? KEY : []),
    );
    expect(unknown).toMatchObject({ code: getRejectionCode(script), stdout: '' });
    expect(unknown.stderr).toContain("unknown option '--no-such-option'\nNothing was done.\n\n");
    const [usageLine] = stdout.split('\n');
    expect(unknown.stderr).toContain(`\n\n${usageLine}\nMore: npm `);
  });

  it('rejects an option that npm kept for itself', async () => {
    vi.stubEnv('npm_lifecycle_event', script);
    vi.stubEnv('npm_config_dry_run', 'true');
    const rejection = await runScript(script);
    expect(rejection).toMatchObject({ code: getRejectionCode(script), stdout: '' });
    expect(rejection.stderr).toContain('npm kept --dry-run for itself: write -- before the argu');
  });

  it('rejects an unknown environment in CLOUDFLARE_ENV', async () => {
    // Otherwise wrangler would use the bindings of production.
    vi.stubEnv('CLOUDFLARE_ENV', 'prod');
    const rejection = await runScript(script);
    expect(rejection).toMatchObject({ code: getRejectionCode(script), stdout: '' });
    expect(rejection.stderr).toContain(
      'CLOUDFLARE_ENV "prod": wrangler.toml defines no such environment (it defines: staging)',
    );
  });
});

it.each<[script: string, args: string[], message: string]>([
  ['deploy', ['--creat'], "unknown option '--creat'\n(Did you mean --create?)\nNothing"],
  ['deploy', ['--location', 'moon'], "option '--location <hint>' argument 'moon' is invalid"],
  ['import-listings', [], "missing required argument 'file'"],
  ['import-listings', ['a.json', '--undo', '--dry-run'], "option '--undo' needs a value"],
  ['import-listings', ['a.json', '--notify-always'], '--notify-always needs --notify'],
  ['import-listings', ['--', 'a.json', '--help'], 'too many arguments'],
  ['import-listings', ['a.json', '--notify', 'https://u:p@a.example/'], '--notify must be an http'],
  ['export-listings', ['--out='], "option '--out <file>' argument '' is invalid. It must name"],
  [
    'export-listings',
    ['--out', 'homes.csv'],
    '--out must end in .xlsx, for a workbook, or in .json',
  ],
  ['token', ['--expires', '0h'], '--expires 0h: must be a number with s, m, h or d'],
  ['api-key', ['--name', 'Site', '--scope', 'feed:read'], '--name "Site" '],
  ['api-key', ['--name', 'site', '--scope', 'feed:read,'], '--scope "" '],
  ['api-key', [...KEY, '--expires', '2099-02-30'], '--expires "2099-02-30" must be a date'],
  ['api-key', [...KEY, '--expires', '2020-01-01'], '--expires 2020-01-01 is in the past'],
  ['api-key', [...KEY, '--rate-limit', '60001'], '--rate-limit 60001 must be at most 60000'],
  ['erase-events', ['--aggregate-id', 'a'], '--aggregate-type and --aggregate-id are needed'],
  ['erase-events', ['--again', '--aggregate-type', 'a'], "option '--again' cannot be used with"],
  ['erase-events', ['--again', '--aggregate-id', 'a'], "option '--again' cannot be used with"],
  ['erase-events', ['--again', '--find', 'anna'], "option '--find <text>' cannot be used with"],
  ['erase-events', ['--again', '--dry-run'], "option '--again' cannot be used with"],
])('does nothing for %s %j', async (script, args, message) => {
  const { code, stdout, stderr } = await runScript(script, ...args);
  expect({ code, stdout }).toEqual({ code: getRejectionCode(script), stdout: '' });
  expect(stderr.startsWith(message)).toBe(true);
  expect(stderr).toMatch(/\nNothing was done\.\n\nUsage: npm .*\nMore: npm .* -- --help\n$/);
});

it.each(['token', 'test'])('reports in one line that Node is too old for npm run %s', (script) => {
  const asOld = encodeURIComponent(
    "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })",
  );
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `${scripts[script]} no-such-file`], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${asOld}` },
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^This is Node 20\.20\.2\. The Node of this project is missing, .*\. Run: npm rebuild node --ignore-scripts=false\n$/,
    ),
  });
});

it.each(['127.0.0.1:3128', 'proxy.test:3128', 'ftp://proxy.test'])(
  'rejects %s as the address of a proxy',
  async (value) => {
    vi.stubEnv('HTTPS_PROXY', value);
    const { code, stderr } = await runScript('operations');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^HTTPS_PROXY or HTTP_PROXY: .* \(the value must begin with http:\/\/\)/,
    );
  },
);

it('completes an import whose reader ends early', async () => {
  const project = await copyWithStore('empty');
  const line = 'node tools/commands/import-listings.ts tools/samples/listings.json | head -c 1';
  const options = { cwd: project.directory, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(project.rows('SELECT count(*) AS stored FROM properties')).toEqual([{ stored: 71 }]);
  await project.remove();
});

describe('arguments', () => {
  const program = declare('sample')
    .option('--flag')
    .option('--env <name>')
    .option('--scope <scope>');
  const read = (...args: string[]) => readArguments(program, args).values;

  it('name files in the directory in which the user called npm', () => {
    vi.stubEnv('INIT_CWD', '/home/editor');
    vi.stubEnv('npm_lifecycle_event', 'sample');
    expect(pathFor('sample')('a.sql')).toBe('/home/editor/a.sql');
  });

  it('are rejected when npm has kept the value of one', () => {
    vi.stubEnv('npm_lifecycle_event', 'sample');
    vi.stubEnv('npm_config_env', 'staging');
    expect(() => read()).toThrow('npm kept --env for itself: write -- before the arguments');
    vi.stubEnv('npm_lifecycle_event', 'another');
    expect(read()).toEqual({});
  });

  it.each<[fact: string, name: string, value: string, args: string[], values: object]>([
    ['is empty for npm', 'npm_config_flag', '', ['--env', 'a'], { env: 'a' }],
    ['is off for npm', 'npm_config_flag', 'false', ['--env', 'a'], { env: 'a' }],
    ['is an argument too', 'npm_config_flag', 'true', ['--flag'], { flag: true }],
    ['is also a setting of npm', 'npm_config_scope', '@acme', [], {}],
  ])('are read when an option %s', (_, name, value, args, values) => {
    vi.stubEnv('npm_lifecycle_event', 'sample');
    vi.stubEnv(name, value);
    expect(read(...args)).toEqual(values);
  });
});

describe('the target', () => {
  const staging = { kind: 'remote', environment: 'staging' };

  it('is the local database by default', () => {
    expect(resolveTarget({ remote: false })).toEqual({ kind: 'local', environment: undefined });
  });

  it('has the environment of --env', () => {
    expect(resolveTarget({ remote: true, env: 'staging' })).toEqual(staging);
  });

  it('has the environment of CLOUDFLARE_ENV without --env', () => {
    vi.stubEnv('CLOUDFLARE_ENV', 'staging');
    expect(resolveTarget({ remote: true })).toEqual(staging);
    // As in wrangler, an empty name is production.
    expect(resolveTarget({ remote: true, env: '' }).environment).toBeUndefined();
  });

  it.each([
    ['an unknown environment', { remote: true, env: 'prod' }, '--env "prod": wrangler.toml'],
    ['an environment without --remote', { remote: false, env: 'staging' }, '--env needs --remote'],
  ])('cannot have %s', (_, values, message) => {
    expect(() => resolveTarget(values)).toThrow(message);
  });

  it('is checked when Vitest starts', () => {
    expect(readFileSync('test/vitest/config.ts', 'utf8')).toMatch(/^ {2}resolveEnvironment\(\)/m);
  });
});
