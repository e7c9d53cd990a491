/**
 * The deployments that `npm run deploy` rejects, so that staging, a misspelt name or a half-filled
 * database harms no production.
 */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAccount } from '../../tools/cloudflare/account.ts';
import { AfterDeployment, untilServed } from '../../tools/cloudflare/release.ts';
import { requireRoutes } from '../../tools/cloudflare/routes.ts';
import { soundDeploymentOf } from '../../tools/command-line/wrangler-config.ts';
import { useQuickWrangler } from '../support/cloudflare/quick-wrangler.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { Worker } from '../support/cloudflare/worker.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';

let cloudflare: CloudflareStandIn;
let project: ProjectCopy;
let config: string;

beforeAll(() => {
  project = new ProjectCopy();
  useQuickWrangler(project);
  config = readFileSync(join(project.directory, 'wrangler.toml'), 'utf8');
});
beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
  project.environment = cloudflare.environment;
  project.write('wrangler.toml', config);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(cloudflare.unknown).toEqual([]);
  await cloudflare.stop();
});
afterAll(() => project.remove());

const deploy = (...args: string[]) => project.run('deploy.ts', ...args);

type Change = (text: string) => string;

/** Changes wrangler.toml of the copy. */
function configure(change: Change): void {
  project.write('wrangler.toml', change(config));
}

/**
 * Returns the deployment that wrangler.toml of the copy describes. Throws the error with which
 * `deploy` rejects it.
 */
const deploymentOf = (environment?: string) => soundDeploymentOf(environment, project.directory);

const DOMAIN = 'routes = [{ pattern = "api.example.com", custom_domain = true }]';
const domain = (text: string) => `${DOMAIN}\n${text}`;
const replacing = (from: string, to: string) => (text: string) => text.replaceAll(from, to);
const ownDomain = (text: string) =>
  domain(text).replace('[env.staging]', '[env.staging]\nroutes = []');
const withJurisdiction = (name: string) => (text: string) =>
  text
    .replaceAll(/^JURISDICTION = .*\n/gm, '')
    .replaceAll(/^(\[(?:env\.staging\.)?vars\])$/gm, `$1\nJURISDICTION = "${name}"`);

const misspelt = replacing(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);

function forbid(request: RegExp): void {
  cloudflare.faults = [{ request, status: 403 }];
}

function placeTables(statements: string): void {
  cloudflare.account.createDatabase(NAME).sqlite.exec(statements);
}

/**
 * Puts a deployed Worker on the account, and the resources that it is bound to. Then changes
 * wrangler.toml.
 */
function placeWorker(change: Change): void {
  configure(change);
  const { account } = cloudflare;
  const { uuid } = account.createDatabase(NAME);
  account.namespaces.push({ id: 'kv', title: `${NAME}-idempotency`, supports_url_encoding: true });
  const worker = new Worker(NAME);
  const bindings = [
    { name: 'DB', type: 'd1', id: uuid },
    { name: 'IDEMPOTENCY', type: 'kv_namespace', namespace_id: 'kv' },
  ];
  worker.upload({ metadata: { bindings, annotations: {} }, files: new Map() });
  account.workers.set(NAME, worker);
}

/** Everything in the account that a deployment could change. */
function contents(): unknown {
  const { databases, namespaces, workers, domains, subdomain } = cloudflare.account;
  const tables = databases.map((each) => [each.name, each.rows('SELECT name FROM sqlite_schema')]);
  const versions = [...workers.values()].map(({ current }) => current.id);
  return structuredClone({ tables, namespaces, versions, domains, subdomain });
}

describe('wrangler.toml', () => {
  const ROUTE = 'would share the route api.example.com with';

  it.each<[what: string, change: Change, environment: string | undefined, message: string]>([
    ['a route of production', domain, 'staging', `staging ${ROUTE} production: give each its own`],
    ['a route that staging inherits', domain, undefined, `production ${ROUTE} staging: `],
    [
      'the database of production',
      replacing(`"${NAME}-staging"\npreview`, `"${NAME}"\npreview`),
      'staging',
      `staging would share the database ${NAME} with production: `,
    ],
    [
      'the Worker of production',
      replacing(`name = "${NAME}-staging"`, `name = "${NAME}"`),
      'staging',
      `staging would share the Worker ${NAME} with production: `,
    ],
    [
      'the namespace of production',
      replacing('preview_id', 'id = "f00d"\npreview_id'),
      'staging',
      'staging would share the namespace f00d with production: ',
    ],
    [
      'an unknown jurisdiction',
      withJurisdiction('europe'),
      'staging',
      '[env.staging.vars] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty',
    ],
    [
      'no database',
      replacing('binding = "DB"', 'binding = "D"'),
      undefined,
      'wrangler.toml lacks a name, a D1 database DB with a database_name, or a KV namespace',
    ],
  ])('is rejected with %s', (_, change, environment, message) => {
    expect(deploymentOf(environment).environment).toBe(environment);
    configure(change);
    expect(() => deploymentOf(environment)).toThrow(message);
  });

  it('is checked before any request', async () => {
    configure(domain);
    const { code, stderr } = await deploy('--env', 'staging');
    expect(code).toBe(1);
    expect(stderr).toContain('Not deployed to staging: staging would share the route');
    expect(stderr).toContain('Run `npm run deploy -- --env staging` again');
    expect(cloudflare.requests).toEqual([]);
  });
});

describe('before it changes anything, deploy stops at', () => {
  it.each<[what: string, arrange: () => unknown, message: string]>([
    [
      'a token without a right',
      () => forbid(/^POST .*\/d1\//),
      'the token lacks the permission "Account · D1 · Edit".',
    ],
    [
      'an account without a workers.dev subdomain',
      () => Object.assign(cloudflare.account, { subdomain: null }),
      'the account has no workers.dev subdomain: choose one at https://dash.cloudflare.com/',
    ],
    [
      'a migration that does more than add',
      () => project.write('migrations/9999_gone.sql', 'ALTER TABLE events DROP payload;'),
      'a migration does more than add: 9999_gone.sql has ALTER TABLE events DROP payload',
    ],
    [
      'a custom domain that leads to another Worker',
      () => {
        configure(ownDomain);
        const { zones, domains } = cloudflare.account;
        zones.push({ id: 'z', name: 'example.com' });
        domains.push({ id: 'd', hostname: 'api.example.com', service: 'shop', zone_id: 'z' });
      },
      'the custom domain api.example.com leads to the Worker shop',
    ],
    [
      'a misspelt name of the database of a Worker',
      () => placeWorker(misspelt),
      `the account has no D1 database ${NAME}s, and the Worker ${NAME} serves already. Is a name in wrangler.toml misspelt?`,
    ],
    [
      'a database that a restore has not filled',
      () => placeTables('CREATE TABLE database_identity (lineage text)'),
      'a restore of this database is not finished',
    ],
    [
      'a database with the tables of another application',
      () => placeTables('CREATE TABLE orders (id text); CREATE TABLE d1_migrations (name text)'),
      `the database ${NAME} has the tables of another application (orders): is database_name in wrangler.toml misspelt?`,
    ],
    [
      'a database in another jurisdiction',
      () => placeWorker(withJurisdiction('eu')),
      `the database ${NAME} is in no jurisdiction, and JURISDICTION in wrangler.toml asks for the jurisdiction eu.`,
    ],
  ])('%s', async (_, arrange, message) => {
    arrange();
    const before = contents();
    const { code, stderr } = await deploy();
    rmSync(join(project.directory, 'migrations/9999_gone.sql'), { force: true });
    expect(code).toBe(1);
    expect(stderr).toContain(`Not deployed to production: ${message}`);
    expect(stderr).toContain('No data was touched, and nothing that serves has changed.');
    expect(contents()).toEqual(before);
  });

  it.each([
    [
      /\/storage\/kv\/|\/workers\/scripts/,
      'the token lacks the permissions "Account · Workers Scripts · Edit", "Account · Workers KV Storage · Edit"',
    ],
    [/./, 'Cloudflare does not accept the credentials'],
  ])('a token that has no right to %s', async (request, message) => {
    forbid(request);
    for (const [name, value] of Object.entries(cloudflare.environment)) vi.stubEnv(name, value);
    const opened = openAccount(deploymentOf(), ['workers', 'd1', 'kv']);
    await expect(opened).rejects.toThrow(message);
  });

  it('a token without the right to the zone of a custom domain', async () => {
    configure(ownDomain);
    const check = () => requireRoutes(cloudflare.openAccount(), deploymentOf());
    const lacks =
      'the token lacks the permission "Zone · Workers Routes · Edit" for the zone of api.example.com';
    await expect(check()).rejects.toThrow(lacks);
    cloudflare.account.zones.push({ id: 'z', name: 'example.com' });
    await check();
    forbid(/^DELETE \/zones\/z\/workers\/routes/);
    await expect(check()).rejects.toThrow(lacks);
  });
});

it('deploy makes the missing resources of a Worker with --create, in the jurisdiction, and names the size of a full database', async () => {
  placeWorker((text) => withJurisdiction('eu')(misspelt(text)));
  cloudflare.account.namespaces.length = 0;
  const { code, stderr } = await deploy('--create', '--location', 'weur');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const created = cloudflare.account.database(`${NAME}s`);
  expect(created.jurisdiction).toBe('eu');
  expect(cloudflare.account.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
  created.size = 7_300_000_000;
  const again = await deploy();
  expect(again.stdout).toContain(
    `database ${NAME}s: found, 73 % of 10 GB: see "When the database fills up" in docs/operate/runbook.md`,
  );
});

describe('once deploy has begun to upload', () => {
  it('a report of wrangler that is cut short, and no new version, mean that none is deployed', async () => {
    project.environment = { ...cloudflare.environment, ONLY_REPORTS: '{"type":"depl' };
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain('wrangler does not say which version it uploaded.');
  });

  it('a new custom domain may need more time than it waits', async () => {
    configure((text) => ownDomain(text).replace('api.example.com', 'api.example.invalid'));
    // Requested at its own address, which nothing serves here.
    vi.stubEnv('SERVICE_ORIGIN', '');
    const version = { id: 'v1', tag: 'tag1', targets: [] };
    const ended = untilServed(version, deploymentOf(), 0);
    await expect(ended).rejects.toThrow(AfterDeployment);
    await expect(ended).rejects.toThrow(
      /^version v1 \(tag1\) is deployed, and https:\/\/api\.example\.invalid\/api\/health\/detailed gives no usable response .*\. Request it again in some minutes, which a new domain's certificate can take; there is nothing to repeat\./,
    );
  });
});
