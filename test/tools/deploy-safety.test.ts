/**
 * The deployments that `npm run deploy` refuses, so that staging, a misspelt name or a half-filled database harms no
 * production.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
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

/** Changes wrangler.toml of the copy. `top` comes before everything. */
function configure(change: (text: string) => string, top = ''): void {
  project.write('wrangler.toml', `${top}\n${change(config)}`);
}

/** Returns the deployment that wrangler.toml of the copy describes. Throws the error with which `deploy` refuses it. */
const deploymentOf = (environment?: string) => soundDeploymentOf(environment, project.directory);

const DOMAIN = 'routes = [{ pattern = "api.example.com", custom_domain = true }]';
const same = (text: string) => text;
const withOwnRoutes = (text: string) => text.replace('[env.staging]', '[env.staging]\nroutes = []');
const withJurisdiction = (jurisdiction: string) => (text: string) =>
  text
    .replaceAll(/^JURISDICTION = .*\n/gm, '')
    .replaceAll(/^(\[(?:env\.staging\.)?vars\])$/gm, `$1\nJURISDICTION = "${jurisdiction}"`);

/** Puts a deployed Worker on the account, and the resources that it is bound to. */
function placeWorker(): void {
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

describe('wrangler.toml', () => {
  const OWN = 'give each its own in wrangler.toml';
  const OWN_ROUTES =
    'environments inherit routes, so write `routes = []`, or its own, into [env.staging] of wrangler.toml';

  it.each<[string, () => void, string | undefined, string]>([
    [
      'a route of production in staging',
      () => configure(same, DOMAIN),
      'staging',
      `staging would share the route api.example.com with production: ${OWN_ROUTES}`,
    ],
    [
      'a route of production that staging inherits',
      () => configure(same, DOMAIN),
      undefined,
      `production would share the route api.example.com with staging: ${OWN_ROUTES}`,
    ],
    [
      'the database of production in staging',
      () => configure((text) => text.replace(`"${NAME}-staging"\npreview`, `"${NAME}"\npreview`)),
      'staging',
      `staging would share the database ${NAME} with production: ${OWN}`,
    ],
    [
      'the Worker of production in staging',
      () => configure((text) => text.replace(`name = "${NAME}-staging"`, `name = "${NAME}"`)),
      'staging',
      `staging would share the Worker ${NAME} with production: ${OWN}`,
    ],
    [
      'the namespace of production in staging',
      () => configure((text) => text.replaceAll('preview_id', 'id = "f00d"\npreview_id')),
      'staging',
      `staging would share the namespace f00d with production: ${OWN}`,
    ],
    [
      'an unknown jurisdiction',
      () => configure(withJurisdiction('europe')),
      undefined,
      '[vars] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty',
    ],
    [
      'an unknown jurisdiction of staging',
      () => configure(withJurisdiction('europe')),
      'staging',
      '[env.staging.vars] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty',
    ],
  ])('may not have %s', (_, change, environment, message) => {
    expect(deploymentOf(environment).environment).toBe(environment);
    change();
    expect(() => deploymentOf(environment)).toThrow(message);
  });

  it('is checked before any request', async () => {
    configure(same, DOMAIN);
    const { code, stderr } = await deploy('--env', 'staging');
    expect(code).toBe(1);
    expect(stderr).toContain('Not deployed to staging: staging would share the route');
    expect(stderr).toContain('Run `npm run deploy -- --env staging` again');
    expect(cloudflare.requests).toEqual([]);
  });
});

describe('a custom domain', () => {
  it('needs the right to its zone', async () => {
    configure(withOwnRoutes, DOMAIN);
    const check = () => requireRoutes(cloudflare.openAccount(), deploymentOf());
    const lacks =
      'the token lacks the permission "Zone · Workers Routes · Edit" for the zone of api.example.com';
    await expect(check()).rejects.toThrow(lacks);
    cloudflare.account.zones.push({ id: 'z', name: 'example.com' });
    expect(await check()).toBe(true);
    cloudflare.faults = [{ request: /^DELETE \/zones\/z\/workers\/routes/, status: 403 }];
    await expect(check()).rejects.toThrow(lacks);
  });

  it('that leads to another Worker is not taken over, and nothing is made', async () => {
    configure(withOwnRoutes, DOMAIN);
    const { zones, domains, databases } = cloudflare.account;
    zones.push({ id: 'z', name: 'example.com' });
    domains.push({ id: 'd', hostname: 'api.example.com', service: 'shop', zone_id: 'z' });
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain('the custom domain api.example.com leads to the Worker shop');
    expect([databases, domains[0]?.service]).toEqual([[], 'shop']);
  });

  it('that is new may take longer than deploy waits', async () => {
    configure(withOwnRoutes, DOMAIN.replace('example.com', 'example.invalid'));
    // Requested at its own address, which nothing serves here.
    vi.stubEnv('SERVICE_ORIGIN', '');
    const version = { id: 'v1', tag: 'tag1', targets: [] };
    const ended = untilServed(version, deploymentOf(), true, 0);
    await expect(ended).rejects.toThrow(AfterDeployment);
    await expect(ended).rejects.toThrow(
      /^version v1 \(tag1\) is deployed, and https:\/\/api\.example\.invalid\/api\/health\/detailed gives no usable answer .*\. A custom domain was added: its certificate can take some minutes\. Ask again then; there is nothing to repeat$/,
    );
  });
});

it.each(['', '{"type":"depl'])(
  'an upload that leaves the report %j, and no new version, is none',
  async (report) => {
    project.environment = { ...cloudflare.environment, ONLY_REPORTS: report };
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain('wrangler does not say which version it uploaded.');
  },
);

describe('a Worker that exists', () => {
  it('gets no new and empty database for a misspelt name, unless --create is said', async () => {
    placeWorker();
    const [bound] = cloudflare.account.databases;
    configure((text) => text.replace(`database_name = "${NAME}"`, `database_name = "${NAME}s"`));
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `the account has no D1 database ${NAME}s, and the Worker ${NAME} serves already, bound to the D1 database ${bound?.uuid} and the KV namespace kv`,
    );
    expect(stderr).toContain('`npm run deploy -- --create`');
    expect(cloudflare.account.databases).toHaveLength(1);
    const created = await deploy('--create');
    expect({ code: created.code, stderr: created.stderr }).toEqual({ code: 0, stderr: '' });
    expect(cloudflare.account.databases).toHaveLength(2);
  });
});

describe('a database', () => {
  it('that a restore has not filled is refused', async () => {
    placeWorker();
    const database = cloudflare.account.database(NAME);
    database.sqlite.exec('CREATE TABLE database_identity (lineage text)');
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain('a restore of this database is not finished');
    expect(database.rows(`SELECT name FROM sqlite_schema WHERE name = 'events'`)).toEqual([]);
  });

  it('that has the tables of another application is refused, and nothing is made', async () => {
    const { sqlite } = cloudflare.account.database(cloudflare.account.createDatabase(NAME).name);
    sqlite.exec('CREATE TABLE orders (id text); CREATE TABLE d1_migrations (name text)');
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `Not deployed to production: the database ${NAME} has the tables of another application (orders): is database_name in wrangler.toml misspelt?`,
    );
    expect(cloudflare.account.namespaces).toEqual([]);
    expect(cloudflare.account.database(NAME).rows('SELECT name FROM sqlite_schema')).toHaveLength(
      2,
    );
  });

  it('that fills up is reported, with the section of the runbook', async () => {
    placeWorker();
    cloudflare.account.database(NAME).size = 7_300_000_000;
    const { code, stdout } = await deploy();
    expect(code).toBe(0);
    expect(stdout).toContain(
      `database ${NAME}: found, 73 % of 10 GB: see "When the database fills up" in docs/operate/runbook.md`,
    );
  });

  it('is made in the jurisdiction, with the namespace, and refused in another one', async () => {
    configure(withJurisdiction('eu'));
    expect((await deploy('--location', 'weur')).code).toBe(0);
    expect(cloudflare.account.database(NAME).jurisdiction).toBe('eu');
    expect(cloudflare.account.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
    configure(withJurisdiction(''));
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `the database ${NAME} is in the jurisdiction eu, and JURISDICTION in wrangler.toml asks for no jurisdiction`,
    );
  });
});

describe('once a version is deployed', () => {
  it('a failed look-up of the keys exits with 2, and names the command to run', async () => {
    placeWorker();
    const served = /^GET \/api\/health/;
    cloudflare.faults = [{ request: /^GET .*\/secrets$/, after: served, status: 403 }];
    const { code, stdout, stderr } = await deploy();
    expect(code).toBe(2);
    expect(stdout).toContain('Served now: version');
    expect(stderr).toMatch(
      /^Deployed to production, but: whether an API key is set is not known \(Authentication error \[code: 10000\]\): `npx wrangler secret put API_KEY --env=`\.$/m,
    );
    expect(stderr).not.toContain('Not deployed');
  });
});
