/**
 * The commands of package.json: their usage, the arguments that they reject, and a reader that ends
 * early.
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
const TOOLS_OWN = ['test', 'watch', 'format', 'migration', 'types'];

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));
const commands = Object.keys(scripts).filter((script) => !TOOLS_OWN.includes(script));

const KEY = ['--name', 'site', '--scope', 'feed:read'];

const codeOf = (script: string) => (script === 'deploy' ? 1 : 2);

/** Runs the command of a script in this process, as a user who may not deploy. */
async function here(script: string, ...args: string[]) {
  vi.stubEnv('CLOUDFLARE_API_TOKEN', 'none');
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'none');
  const { command } = await import(`../../../tools/commands/${script}.ts`);
  return runHere(command, ...args);
}

afterEach(() => vi.unstubAllEnvs());

describe.each(commands)('npm run %s', (script) => {
  it('is the program of its name, which runs it with the arguments of the process', () => {
    expect(scripts[script]).toMatch(
      new RegExp(`^(exec )?node --import \\./tools/own-node\\.js tools/commands/${script}\\.ts$`),
    );
    expect(readFileSync(`tools/commands/${script}.ts`, 'utf8')).toMatch(
      // The last line: constants after it would not be made yet.
      /\nif \(import\.meta\.main\) await runCommand\(command\);\n$/,
    );
  });

  it('prints its usage, also for an argument that it rejects', async () => {
    const { code, stdout, stderr } = await here(script, '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run (-s )?${script} -- .*\n\n[A-Z]`));
    expect(stdout).toMatch(/\n\nChanges: [\s\S]*\.\nExit codes: 0 .*\.\nExample: .*npm .*\n\n/);
    const unknown = await here(script, '--no-such-option', ...(script === 'api-key' ? KEY : []));
    expect(unknown).toMatchObject({ code: codeOf(script), stdout: '' });
    expect(unknown.stderr).toContain("unknown option '--no-such-option'\nNothing was done.\n\n");
    const [usageLine] = stdout.split('\n');
    expect(unknown.stderr).toContain(`\n\n${usageLine}\nMore: npm `);
    vi.stubEnv('npm_lifecycle_event', script);
    vi.stubEnv('npm_config_dry_run', 'true');
    const swallowed = await here(script);
    expect(swallowed).toMatchObject({ code: codeOf(script), stdout: '' });
    expect(swallowed.stderr).toContain('npm kept --dry-run for itself: write -- before the argu');
    // Wrangler would take production's bindings for it.
    vi.stubEnv('CLOUDFLARE_ENV', 'prod');
    const elsewhere = await here(script);
    expect(elsewhere).toMatchObject({ code: codeOf(script), stdout: '' });
    expect(elsewhere.stderr).toContain(
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
])('%s %j does nothing', async (script, args, message) => {
  const { code, stdout, stderr } = await here(script, ...args);
  expect({ code, stdout }).toEqual({ code: codeOf(script), stdout: '' });
  expect(stderr.startsWith(message)).toBe(true);
  expect(stderr).toMatch(/\nNothing was done\.\n\nUsage: npm .*\nMore: npm .* -- --help\n$/);
});

it.each(['token', 'test'])('npm run %s says in one sentence that Node is too old', (script) => {
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
  'a malformed proxy is named: %s',
  async (value) => {
    vi.stubEnv('HTTPS_PROXY', value);
    const { code, stderr } = await here('operations');
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^HTTPS_PROXY or HTTP_PROXY: .* \(the value must begin with http:\/\/\)/,
    );
  },
);

it('a reader that ends early does not stop an import, or change its exit code', async () => {
  const project = await copyWithStore('empty');
  const line = 'node tools/commands/import-listings.ts tools/samples/listings.json | head -c 1';
  const options = { cwd: project.directory, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], options);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(project.rows('SELECT count(*) AS stored FROM properties')).toEqual([{ stored: 71 }]);
  await project.remove();
});

describe('arguments', () => {
  const program = declare('own').option('--flag').option('--env <name>').option('--scope <scope>');
  const read = (...args: string[]) => readArguments(program, args).values;

  it('name files in the directory in which the user called npm', () => {
    vi.stubEnv('INIT_CWD', '/home/editor');
    vi.stubEnv('npm_lifecycle_event', 'own');
    expect(pathFor('own')('a.sql')).toBe('/home/editor/a.sql');
  });

  it('are rejected when npm has kept the value of one', () => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    vi.stubEnv('npm_config_env', 'staging');
    expect(() => read()).toThrow('npm kept --env for itself: write -- before the arguments');
    vi.stubEnv('npm_lifecycle_event', 'another');
    expect(read()).toEqual({});
  });

  it("are read when the option is an argument too, is off for npm, or is npm's own setting", () => {
    vi.stubEnv('npm_lifecycle_event', 'own');
    for (const value of ['', 'false']) {
      vi.stubEnv('npm_config_flag', value);
      expect(read('--env', 'a')).toEqual({ env: 'a' });
    }
    vi.stubEnv('npm_config_flag', 'true');
    expect(read('--flag')).toEqual({ flag: true });
    vi.stubEnv('npm_config_flag', 'false');
    vi.stubEnv('npm_config_scope', '@acme');
    expect(read()).toEqual({});
  });
});

it('the environment is that of --env, else of CLOUDFLARE_ENV, and only of a deployed database', () => {
  // Vitest, which `watch` runs, checks it too.
  expect(readFileSync('test/vitest/config.ts', 'utf8')).toMatch(/^ {2}resolveEnvironment\(\)/m);
  const staging = { kind: 'remote', environment: 'staging' };
  expect(resolveTarget({ remote: false })).toEqual({ kind: 'local', environment: undefined });
  expect(resolveTarget({ remote: true, env: 'staging' })).toEqual(staging);
  expect(() => resolveTarget({ remote: true, env: 'prod' })).toThrow('--env "prod": wrangler.toml');
  expect(() => resolveTarget({ remote: false, env: 'staging' })).toThrow('--env needs --remote');
  vi.stubEnv('CLOUDFLARE_ENV', 'staging');
  expect(resolveTarget({ remote: true })).toEqual(staging);
  // As in wrangler, an empty name is production.
  expect(resolveTarget({ remote: true, env: '' }).environment).toBeUndefined();
});
