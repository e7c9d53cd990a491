/**
 * `npm run deploy` against a stand-in of Cloudflare: once with the real wrangler, which takes the
 * stand-in for the real one, and with a replaced wrangler for its decisions.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWrangler } from '../../tools/cloudflare/wrangler.ts';
import { migrationNames } from '../../tools/database/migrations.ts';
import { command } from '../../tools/deploy.ts';
import { CloudflareStandIn, type Fault } from '../support/cloudflare/stand-in.ts';
import { runHere } from '../support/node/in-process.ts';
import { neutralConfig } from '../support/node/neutral-config.ts';
import { productionBundle } from '../support/node/production-service.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
const isFull = process.env.FULL === '1';
const CONFIG = neutralConfig(readFileSync('wrangler.toml', 'utf8'));

let cloudflare: CloudflareStandIn;

beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(cloudflare.unknown).toEqual([]);
  await cloudflare.stop();
});

/** Staging inherits the route. */
const SHARED_DOMAIN = `routes = [{ pattern = "api.example.com", custom_domain = true }]\n${CONFIG}`;
const WITH_DOMAIN = SHARED_DOMAIN.replace('[env.staging]', '[env.staging]\nroutes = []');
const set = (from: string, to: string) => CONFIG.replaceAll(from, to);
const MISSPELT = set(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);
const inJurisdiction = (name: string) => set('JURISDICTION = ""', `JURISDICTION = "${name}"`);

/** Makes the programs and the API client of this process take the stand-in for Cloudflare. */
function stubEnvironment(): void {
  for (const [name, value] of Object.entries(cloudflare.environment)) vi.stubEnv(name, value);
}

describe('in a copy of the project', () => {
  let project: ProjectCopy;
  beforeEach(() => {
    project = new ProjectCopy();
    project.environment = cloudflare.environment;
    project.write('wrangler.toml', WITH_DOMAIN);
  });
  afterEach(() => project.remove());

  it('the real wrangler brings the service up from nothing', async () => {
    stubEnvironment();
    const { directory } = project;
    // Its build, which takes as long, is that of `productionBundle`.
    const wrangler: typeof runWrangler = async (args, options) =>
      args.includes('--dry-run') ? { isDone: true, output: '' } : runWrangler(args, options);
    const run: typeof command.run = (request) => command.run(request, { directory, wrangler });
    const first = await runHere({ ...command, run }, '--location', 'weur');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const { account } = cloudflare;
    const database = account.database(NAME);
    const served = account.served(NAME);
    for (const line of [
      `database ${NAME}: created, 0 % of 10 GB\n`,
      `KV namespace ${NAME}-idempotency: created\n`,
      'Time Travel bookmark before this deployment: 00000000-',
      '\nmigrated: 0000_init.sql',
      '\nread replicas of the database: switched on\n',
      `\nServed now: version ${served.id} (no-commit) at ${cloudflare.origin}, all is up\n`,
      '\nNo API key is set yet: `npx wrangler secret put API_KEY --env=`\n',
    ]) {
      expect(first.stdout).toContain(line);
    }
    expect(database.location).toBe('weur');
    expect(served.bound).toEqual([database.uuid, account.namespaces[0]?.id]);
    expect(account.domains).toEqual([{ hostname: 'api.example.com', service: NAME }]);
    // The bundle that other tests serve, with its sources and the binding that names its version.
    const bundle = readFileSync(await productionBundle(), 'utf8').trimEnd();
    expect(served.script.includes(bundle)).toBe(true);
    expect(served.script).toMatch(/"sources":\[[^\]]*src\/app\.ts/);
    expect(served.script).toContain('"CF_VERSION_METADATA","type":"version_metadata"');
    // Nothing of the account is left in the working copy.
    expect(readdirSync(project.directory).filter((name) => /^\.scratch/.test(name))).toEqual([]);
  });

  it.runIf(isFull)('the program deploys over a Worker, and keeps staging apart', async () => {
    const { account } = cloudflare;
    expect(await project.run('deploy.ts')).toMatchObject({ code: 0, stderr: '' });
    const first = account.served(NAME);
    expect(await project.run('deploy.ts')).toMatchObject({ code: 0, stderr: '' });
    const second = account.served(NAME);
    expect(second.id).not.toBe(first.id);
    expect(second.bound).toEqual(first.bound);
    const staged = await project.run('deploy.ts', '--env', 'staging');
    expect(staged).toMatchObject({ code: 0, stderr: '' });
    expect(account.served(NAME)).toEqual(second);
    expect(account.served(STAGING).bound[0]).toBe(account.database(STAGING).uuid);
    expect(account.domains.every(({ service }) => service === NAME)).toBe(true);
  });

  it('the program stops at a migration that does more than add, before any request', async () => {
    project.write('migrations/9999_gone.sql', 'ALTER TABLE events DROP payload;');
    const { code, stderr } = await project.run('deploy.ts');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'The deployment to production failed at the checks: a migration does more than add: 9999_gone.sql has ALTER TABLE events DROP payload.\nNothing has changed. `npm run deploy` may be repeated.\n',
    });
    expect(cloudflare.requests).toEqual([]);
  });

  it('the program says where it was interrupted, and leaves no file', async () => {
    const child = spawn(process.execPath, ['tools/deploy.ts'], {
      cwd: project.directory,
      env: { ...process.env, ...cloudflare.environment },
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    const scratch = () => readdirSync(project.directory).filter((name) => /^\.scratch/.test(name));
    await vi.waitUntil(() => scratch().length > 0, { timeout: 20_000, interval: 20 });
    // As a terminal does: to wrangler too.
    process.kill(-Number(child.pid), 'SIGINT');
    const [stderr, [, signal]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(signal).toBe('SIGINT');
    expect(stderr).toContain('failed at the checks: it was interrupted.\nNothing has changed.');
    expect(scratch()).toEqual([]);
  });

  it.runIf(isFull)('the program says how to get credentials when there are none', async () => {
    const nowhere = { HOME: project.directory, XDG_CONFIG_HOME: project.directory };
    project.environment = { ...cloudflare.environment, CLOUDFLARE_API_TOKEN: '', ...nowhere };
    const { code, stderr } = await project.run('deploy.ts');
    expect(code).toBe(1);
    expect(stderr).toContain('set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`');
  });
});

describe('deploy', () => {
  let directory: string;
  /** How wrangler fails: at the build, before it uploads, or after it. */
  let wranglerFails: 'build' | 'before' | 'after' | undefined;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'deploy-'));
    wranglerFails = undefined;
    configure(CONFIG);
    stubEnvironment();
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const configure = (config: string) => writeFileSync(join(directory, 'wrangler.toml'), config);

  /** Leaves the account as wrangler leaves it, and prints the lines of wrangler that `deploy` reads. */
  async function wrangler(args: readonly string[]) {
    const value = (option: string) => args[args.indexOf(option) + 1] ?? '';
    if (args.includes('--dry-run')) {
      const isDone = wranglerFails !== 'build';
      return { isDone, output: isDone ? '' : 'Could not resolve "./missing.ts"' };
    }
    if (wranglerFails === 'before') return { isDone: false, output: '' };
    const all = JSON.parse(readFileSync(value('--config'), 'utf8'));
    const [, environment = ''] = args.at(-1)?.split('=') ?? [];
    const own = { ...all, ...all.env[environment] };
    const id = cloudflare.account.upload(own.name, {
      tag: value('--tag'),
      message: value('--message'),
      bound: [own.d1_databases[0].database_id, own.kv_namespaces[0].id],
      script: '',
    });
    return { isDone: wranglerFails !== 'after', output: `Current Version ID: ${id}` };
  }

  const deploy = (...args: string[]) =>
    runHere(
      {
        ...command,
        run: (request) => command.run(request, { directory, wrangler, patienceMs: 0 }),
      },
      ...args,
    );

  async function expectDeployed(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await deploy(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }

  /** Everything in the account that a deployment could change. */
  function contents(): unknown {
    const { databases, namespaces, workers, domains } = cloudflare.account;
    const tables = databases.map((each) => [
      each.uuid,
      each.rows('SELECT name FROM sqlite_schema'),
    ]);
    return structuredClone({ tables, namespaces, workers, domains });
  }

  describe('stops before it changes anything:', () => {
    const place = (tables: string) => cloudflare.account.createDatabase(NAME).sqlite.exec(tables);
    const STAGED = ['--env', 'staging'];

    it.each<[message: string, arrange: () => unknown, args?: string[]]>([
      ['production would share the route api.example.com with', () => configure(SHARED_DOMAIN)],
      [
        'staging would share the route api.example.com with',
        () => configure(SHARED_DOMAIN),
        STAGED,
      ],
      [
        `staging would share the database ${NAME} with production: give each its own in wrangler.toml`,
        () => configure(set(`database_name = "${STAGING}"`, `database_name = "${NAME}"`)),
        STAGED,
      ],
      [
        `staging would share the Worker ${NAME} with production: `,
        () => configure(set(`name = "${STAGING}"`, `name = "${NAME}"`)),
        STAGED,
      ],
      [
        'staging would share the namespace f00d with production: ',
        () => configure(set('preview_id', 'id = "f00d"\npreview_id')),
        STAGED,
      ],
      [
        '[env.staging.vars] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty',
        () => configure(inJurisdiction('europe')),
        STAGED,
      ],
      [
        'wrangler.toml lacks a name, a D1 database DB with a database_name, or a KV namespace',
        () => configure(set('binding = "DB"', 'binding = "D"')),
      ],
      ['cannot open ', () => mkdirSync(join(directory, `.scratch-${process.pid}-wrangler.json`))],
      [
        'the bundle cannot be built\nCould not resolve "./missing.ts"\nNothing has changed.',
        () => {
          wranglerFails = 'build';
        },
      ],
      [
        'the credentials are not accepted, or lack a permission of "What you need" in docs/operate',
        () => cloudflare.faults.push({ request: /./, status: 403 }),
      ],
      [
        'the custom domain api.example.com leads to the Worker shop',
        () => {
          configure(WITH_DOMAIN);
          cloudflare.account.domains.push({ hostname: 'api.example.com', service: 'shop' });
        },
      ],
      [
        `the account has no D1 database ${NAME}s, and the Worker ${NAME} serves already. Is a name`,
        () => expectDeployed().then(() => configure(MISSPELT)),
      ],
      [
        'a restore of this database is not finished',
        () => place('CREATE TABLE database_identity (lineage text)'),
      ],
      [
        `the database ${NAME} has the tables of another application (orders): is database_name in`,
        () => place('CREATE TABLE orders (id text)'),
      ],
      [
        `the database ${NAME} is in no jurisdiction, and JURISDICTION in wrangler.toml asks for the jurisdiction eu.`,
        () => {
          place('');
          configure(inJurisdiction('eu'));
        },
      ],
    ])('%s', async (message, arrange, args = []) => {
      await arrange();
      const before = contents();
      const { code, stderr } = await deploy(...args);
      const [title, command] = args.includes('staging')
        ? ['staging', 'npm run deploy -- --env staging']
        : ['production', 'npm run deploy'];
      expect(code).toBe(1);
      expect(stderr).toContain(`The deployment to ${title} failed at the checks: ${message}`);
      expect(stderr).toContain(`\nNothing has changed. \`${command}\` may be repeated.\n`);
      expect(contents()).toEqual(before);
    });
  });

  describe('after a failure in the middle, says what serves, and is repeated:', () => {
    const CREATION = /^POST .*\/d1\/database$/;
    const NAMESPACE = /^POST .*\/namespaces$/;
    const BATCH = { request: /^POST .*\/query$/, body: /batch/ };
    const LOST = { status: 502, isAfter: true, times: 1 };
    const CREATED = 'No data was touched, and nothing that serves has changed.';
    const MIGRATED = 'Migrations that were applied stay. Nothing that serves has changed.';
    const LIST = '`npx wrangler deployments list --env=staging` lists what serves.';

    it.each<[string, Fault | 'before' | 'after', string, string]>([
      ['the database', { request: CREATION, status: 400 }, 'resources: code 10001', CREATED],
      ['its lost creation', { ...LOST, request: CREATION }, 'resources: Cloudflare gave', CREATED],
      ['a lost namespace', { ...LOST, request: NAMESPACE }, 'resources: Cloudflare', CREATED],
      ['the bookmark', { request: /bookmark$/, status: 400 }, 'resources: code', CREATED],
      ['the migration', { ...BATCH, status: 400 }, 'migrations: the migration 0000', MIGRATED],
      [
        'the replicas',
        { request: /^PUT .*\/d1\/database/, status: 400 },
        'migrations: read replicas cannot be switched on (--no-replicas leaves them): code',
        MIGRATED,
      ],
      ['the upload', 'before', 'upload: wrangler has deployed no version.', LIST],
      ['a step after the upload', 'after', 'upload: version ', LIST],
    ])('%s', async (_, fault, message, known) => {
      if (typeof fault === 'string') wranglerFails = fault;
      else cloudflare.faults = [fault];
      const failed = await deploy('--env', 'staging');
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain(`The deployment to staging failed at the ${message}`);
      expect(failed.stderr).toContain(known);
      wranglerFails = undefined;
      cloudflare.faults = [];
      expect(await expectDeployed('--env', 'staging')).toContain(', all is up\n');
      const { databases, namespaces } = cloudflare.account;
      expect([databases.length, namespaces.length]).toEqual([1, 1]);
    });

    it.each([502, 429])('a %i after the migration is no failure', async (status) => {
      cloudflare.faults = [{ ...LOST, ...BATCH, status }];
      const { code, stderr } = await deploy();
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `Cloudflare: its API responded with HTTP ${status}. The request is repeated.\n`,
      });
    });
  });

  it('names the version that still serves after a failed upload', async () => {
    await expectDeployed();
    wranglerFails = 'before';
    const { id } = cloudflare.account.served(NAME);
    expect((await deploy()).stderr).toContain(
      `deployed no version, and version ${id} still serves.`,
    );
  });

  it('finds its resources beside others of their names, and creates no second one', async () => {
    const { account } = cloudflare;
    const first = await expectDeployed();
    expect(first).toContain(`migrated: ${migrationNames().join(', ')}\n`);
    for (let index = 0; index < 150; index += 1) {
      account.namespaces.unshift({ id: `other-${index}`, title: `other ${index}` });
    }
    account.createDatabase(`${NAME}-old`);
    const before = account.served(NAME);
    const again = await expectDeployed();
    expect(again).toContain(`database ${NAME}: found`);
    expect(again).toContain(`KV namespace ${NAME}-idempotency: found`);
    expect(again).toContain('no migration is pending');
    expect(again).not.toContain('No API key is set');
    expect([account.databases.length, account.namespaces.length]).toEqual([2, 151]);
    expect(account.served(NAME).bound).toEqual(before.bound);
  });

  it('makes the missing resources of a Worker with --create, in the jurisdiction, and names the size of a full database', async () => {
    await expectDeployed();
    configure(MISSPELT.replaceAll('JURISDICTION = ""', 'JURISDICTION = "eu"'));
    cloudflare.account.namespaces.length = 0;
    await expectDeployed('--create');
    const created = cloudflare.account.database(`${NAME}s`);
    expect(created.jurisdiction).toBe('eu');
    expect(cloudflare.account.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
    created.file_size = 7_300_000_000;
    expect(await expectDeployed()).toContain(
      `database ${NAME}s: found, 73 % of 10 GB: see "When the database fills up" in docs/operate/runbook.md`,
    );
  });

  it('switches read replicas on where they are off, and leaves them with --no-replicas', async () => {
    const SAID = 'read replicas of the database: switched on';
    expect(await expectDeployed('--no-replicas')).not.toContain(SAID);
    const database = cloudflare.account.database(NAME);
    expect(database.read_replication.mode).toBe('disabled');
    expect(await expectDeployed()).toContain(SAID);
    expect(database.read_replication.mode).toBe('auto');
    expect(await expectDeployed()).not.toContain(SAID);
    expect(await expectDeployed('--no-replicas')).not.toContain(SAID);
    expect(database.read_replication.mode).toBe('auto');
  });

  it('reports a degraded version as served, and one that is down or does not respond as a failure', async () => {
    const { account } = cloudflare;
    account.health.rate_limiter = 'down';
    expect(await expectDeployed()).toContain(', degraded: rate_limiter is down\n');
    account.health.database = 'down';
    const down = await deploy();
    expect(down.code).toBe(1);
    expect(down.stderr).toContain('failed at the health check: version ');
    expect(down.stderr).toContain(
      '/api/health/detailed says that it is down: database, rate_limiter.\n',
    );
    configure(WITH_DOMAIN.replace('api.example.com', 'api.example.invalid'));
    vi.stubEnv('SERVICE_ORIGIN', '');
    expect((await deploy()).stderr).toMatch(
      /failed at the health check: version \S+ is deployed, and https:\/\/api\.example\.invalid\/api\/health\/detailed gets its responses from nothing that is usable \(\w+\)\. Request it again in some minutes/,
    );
    const hanging = createServer(() => {}).listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    vi.stubEnv('SERVICE_ORIGIN', `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`);
    const silent = await deploy();
    expect(silent.code).toBe(1);
    expect(silent.stderr).toContain('nothing that is usable (TimeoutError)');
    hanging.closeAllConnections();
    hanging.close();
  });

  it('names the commit, and is undone as the runbook says: the earlier code under the settings of today', async () => {
    const git = (...args: string[]) => {
      const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
      return execFileSync('git', [...identity, ...args], { cwd: directory, encoding: 'utf8' });
    };
    const commit = (code: string, settings: string, subject: string) => {
      mkdirSync(join(directory, 'src'), { recursive: true });
      for (const name of ['src/index.ts', 'package.json', 'package-lock.json']) {
        writeFileSync(join(directory, name), code);
      }
      configure(`${CONFIG}\n# ${settings}\n`);
      git('add', '-A');
      git('commit', '-qm', subject);
    };
    git('init', '-q');
    commit('good code', 'a leaked key', 'the first');
    await expectDeployed();
    const first = cloudflare.account.served(NAME);
    expect(first.tag).toMatch(/^[0-9a-f]{12}$/);
    expect(first.message).toBe(`${first.tag} the first`);
    commit('bad code', 'no leaked key', `a bad one, ${'and more '.repeat(20)}`);
    await expectDeployed();
    // Cloudflare takes no longer one.
    expect(cloudflare.account.served(NAME).message).toHaveLength(100);

    const [, restore = ''] =
      /git (restore --source=TAG [^&]+) &&/.exec(readFileSync('docs/operate/runbook.md', 'utf8')) ??
      [];
    git(...restore.replace('TAG', first.tag).split(' '));
    expect(readFileSync(join(directory, 'src/index.ts'), 'utf8')).toBe('good code');
    expect(readFileSync(join(directory, 'wrangler.toml'), 'utf8')).toContain('# no leaked key');
    expect(await expectDeployed()).toContain('-dirty) at ');

    // As in the folder of another user.
    vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
    expect(await expectDeployed()).toContain('names no commit: fatal: detected dubious ownership');
  });
});
