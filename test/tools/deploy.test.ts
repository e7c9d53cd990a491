/** `npm run deploy`: its steps, and what it says when one of them fails. */

import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWrangler } from '../../tools/cloudflare/wrangler.ts';
import { migrationNames } from '../../tools/database/migrations.ts';
import { command } from '../../tools/deploy.ts';
import { Database } from '../support/cloudflare/database.ts';
import {
  CONFIG,
  cloudflare,
  configure,
  deploy,
  expectDeployed,
  failAt,
  NAME,
  set,
  useDeployer,
} from '../support/cloudflare/deployer.ts';
import type { Fault } from '../support/cloudflare/stand-in.ts';
import { runHere } from '../support/node/in-process.ts';
import { productionBundle } from '../support/node/production-service.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

useDeployer();

const MISSPELT = set(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);

/** Fails the first request that matches. */
function failOnce(request: RegExp, fault: Fault): void {
  cloudflare.fault = (name, body) => {
    if (!request.test(`${name} ${body}`)) return undefined;
    cloudflare.fault = () => undefined;
    return fault;
  };
}

describe('in a copy of the project', () => {
  let project: ProjectCopy;
  beforeEach(() => {
    project = new ProjectCopy();
    project.write('wrangler.toml', CONFIG);
  });
  afterEach(() => project.remove());

  it('the real wrangler brings the service up from nothing', async () => {
    // Its build, which takes as long, is that of `productionBundle`.
    const wrangler: typeof runWrangler = async (args, isShown) =>
      args.includes('--dry-run') ? { isDone: true, output: '' } : runWrangler(args, isShown);
    const { directory } = project;
    const run: typeof command.run = (request) => command.run(request, { directory, wrangler });
    const first = await runHere({ ...command, run }, '--location', 'weur');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const database = cloudflare.database(NAME);
    const served = cloudflare.served(NAME);
    for (const line of [
      `database ${NAME}: created, 0 % of 10 GB\n`,
      `KV namespace ${NAME}-idempotency: created\n`,
      'Time Travel bookmark before this deployment: 00000000-',
      `\nmigrated: ${migrationNames().join(', ')}\n`,
      '\nread replicas of the database: switched on\n',
      `\nServed now: version ${served.id} (no-commit) at ${cloudflare.origin}, all is up\n`,
      '\nNo API key is set yet: `npx wrangler secret put API_KEY --env=`\n',
    ]) {
      expect(first.stdout).toContain(line);
    }
    expect(database.primary_location_hint).toBe('weur');
    expect(served.bound).toEqual([database.uuid, cloudflare.namespaces[0]?.id]);
    // The bundle that other tests serve, with its sources and the binding that names its version.
    const bundle = readFileSync(await productionBundle(), 'utf8').trimEnd();
    expect(served.script.includes(bundle)).toBe(true);
    expect(served.script).toMatch(/"sources":\[[^\]]*src\/app\.ts/);
    expect(served.script).toContain('"CF_VERSION_METADATA","type":"version_metadata"');
    const files = readdirSync(directory);
    expect(files.filter((name) => name.startsWith('.scratch'))).toEqual([]);
  });

  it('the program stops at a migration that does more than add, before any request', async () => {
    project.write('migrations/9999_gone.sql', 'ALTER TABLE events DROP payload;');
    expect(await project.run('deploy.ts')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'The deployment to production failed at the checks: a migration does more than add: 9999_gone.sql has ALTER TABLE events DROP payload.\nNothing has changed. `npm run deploy` may be repeated.\n',
    });
    expect(cloudflare.requests).toEqual([]);
  });
});

describe('after a failure in the middle, says what serves, and is repeated:', () => {
  const CREATED = 'No data was touched, and nothing that serves has changed.';
  const MIGRATED = 'Migrations that were applied stay. Nothing that serves has changed.';
  const CREATION = /^POST .*\/d1\/database /;
  const NAMESPACE = /^POST .*\/namespaces /;
  const MIGRATION = /^POST .*\/query .*batch/;
  const REPLICAS = /^PUT .*\/d1\/database/;
  const LONG = { status: 429, retryAfter: '901' };

  it.each<[step: string, known: string, request?: RegExp, fault?: Fault]>([
    ['resources: a fault [code: 10001]: see "What you need"', CREATED, CREATION, { status: 403 }],
    ['resources: Error: the title exists', CREATED, NAMESPACE, { status: 502, isAfter: true }],
    ['migrations: the migration 0000_init.sql', MIGRATED, MIGRATION, { status: 400 }],
    ['read replicas: Cloudflare asks for a pause of 901 s', '`--no-replicas`', REPLICAS, LONG],
    ['upload: wrangler says', '`npx wrangler deployments list --env=staging` lists'],
  ])('%s', async (step, known, request, fault) => {
    if (request === undefined || fault === undefined) failAt('upload');
    else failOnce(request, fault);
    const failed = await deploy('--env', 'staging');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(`The deployment to staging failed at the ${step}`);
    expect(failed.stderr).toContain(known);
    const left = /\nLeft to do: (.*)\.\nNo API key is set yet: /.exec(failed.stderr)?.[1];
    const ALL = 'resources, migrations, read replicas, upload, health check';
    expect(left).toBe(ALL.slice(ALL.indexOf(step.split(':')[0] ?? '')));
    failAt(undefined);
    expect(await expectDeployed('--env', 'staging')).toContain(', all is up\n');
    expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([1, 1]);
  });

  it('a 429 after the migration is no failure, and its Retry-After is kept', async () => {
    failOnce(MIGRATION, { status: 429, isAfter: true, retryAfter: '1' });
    const { code, stderr } = await deploy();
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Cloudflare: [^\n]+\. The request is repeated in 1000 ms\.\n$/);
  });
});

it('that a signal ends says what is left to do', async () => {
  const ended = vi.spyOn(process, 'kill').mockReturnValue(true);
  cloudflare.fault = (request) => {
    if (request.startsWith('PUT ')) process.emit('SIGINT', 'SIGINT');
    return undefined;
  };
  const { stderr } = await deploy();
  expect(ended).toHaveBeenCalledWith(process.pid, 'SIGINT');
  expect(stderr).toBe(
    `The deployment to production failed at the read replicas: it was interrupted.
Nothing that serves has changed. \`--no-replicas\` leaves out this step. \`npm run deploy\` may be repeated.
Left to do: read replicas, upload, health check.
No API key is set yet: \`npx wrangler secret put API_KEY --env=\`
`,
  );
  ended.mockRestore();
});

it('says that no API key is set until one is, whichever deployment it is', async () => {
  const SAID = 'No API key is set yet: `npx wrangler secret put API_KEY --env=`\n';
  expect(await expectDeployed()).toContain(SAID);
  cloudflare.secrets.set(NAME, ['OTHER']);
  expect(await expectDeployed()).toContain(SAID);
  cloudflare.secrets.set(NAME, ['OTHER', 'API_KEY']);
  expect(await expectDeployed()).not.toContain('No API key');
});

it('finds its resources beside others of similar names, and creates no second one', async () => {
  cloudflare.databases.push(new Database(`${NAME}-old`));
  for (let n = 0; n < 50; n += 1) cloudflare.namespaces.push({ id: `${n}`, title: `other-${n}` });
  await expectDeployed();
  const before = cloudflare.served(NAME);
  const again = await expectDeployed();
  expect(again).toContain(`database ${NAME}: found`);
  expect(again).toContain(`KV namespace ${NAME}-idempotency: found`);
  expect(again).toContain('no migration is pending');
  expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([2, 51]);
  expect(cloudflare.served(NAME).bound).toEqual(before.bound);
});

it('makes the missing resources of a Worker with --create', async () => {
  await expectDeployed();
  configure(MISSPELT.replaceAll('JURISDICTION = ""', 'JURISDICTION = "eu"'));
  cloudflare.namespaces.length = 0;
  await expectDeployed('--create');
  const created = cloudflare.database(`${NAME}s`);
  expect(created.jurisdiction).toBe('eu');
  expect(cloudflare.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
  created.file_size = 6_900_000_000;
  expect(await expectDeployed()).toContain(`database ${NAME}s: found, 69 % of 10 GB\n`);
  created.file_size = 7_000_000_000;
  expect(await expectDeployed()).toContain(
    `found, 70 % of 10 GB: see "When the database fills up" in docs/operate/runbook.md\n`,
  );
});

it('chooses by CLOUDFLARE_ACCOUNT_ID among the accounts that the credentials open', async () => {
  const [{ id } = { id: '' }] = cloudflare.accounts;
  cloudflare.accounts.push({ id: 'b'.repeat(32) });
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', id);
  expect(await expectDeployed()).toContain(', all is up\n');
});

it('switches read replicas on where they are off, and leaves them with --no-replicas', async () => {
  const SAID = 'read replicas of the database: switched on';
  expect(await expectDeployed('--no-replicas')).not.toContain(SAID);
  const database = cloudflare.database(NAME);
  expect(database.read_replication.mode).toBe('disabled');
  expect(await expectDeployed()).toContain(SAID);
  expect(database.read_replication.mode).toBe('auto');
  expect(await expectDeployed()).not.toContain(SAID);
});
