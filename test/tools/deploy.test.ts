/**
 * `npm run deploy` with the real wrangler, against a stand-in of Cloudflare, which wrangler takes
 * for the real one.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useQuickWrangler } from '../support/cloudflare/quick-wrangler.ts';
import { CloudflareStandIn, type Fault } from '../support/cloudflare/stand-in.ts';
import { productionBundle } from '../support/node/production-service.ts';
import { type Finished, ProjectCopy } from '../support/node/project-copy.ts';

/** The quick wrangler, and the argument of the runs that it leaves to the real one. */
const QUICK = { REAL_WRANGLER_FOR: 'none' };
const REAL_UPLOAD = { REAL_WRANGLER_FOR: '--tag' };
const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
const isFull = process.env.FULL === '1';
const UNTOUCHED = 'No data was touched, and nothing that serves has changed.';
const MIGRATED = 'Migrations that were applied stay, and nothing that serves has changed.';

let cloudflare: CloudflareStandIn;
const projects: ProjectCopy[] = [];

/**
 * A clone that nothing was set in. With `quick`, wrangler is replaced for all runs but those that
 * `quick` names.
 */
function clone(quick?: { REAL_WRANGLER_FOR: string }): ProjectCopy {
  const project = new ProjectCopy();
  project.environment = { ...cloudflare.environment, ...quick };
  if (quick !== undefined) useQuickWrangler(project);
  projects.push(project);
  return project;
}

/** Gives production a custom domain, which staging does not inherit. */
function configureDomain(project: ProjectCopy): void {
  const text = readFileSync(join(project.directory, 'wrangler.toml'), 'utf8');
  const routes = 'routes = [{ pattern = "api.example.com", custom_domain = true }]';
  const own = text.replace('[env.staging]', '[env.staging]\nroutes = []');
  project.write('wrangler.toml', `${routes}\n${own}`);
}

const deploy = (project: ProjectCopy, ...args: string[]): Promise<Finished> =>
  project.run('deploy.ts', ...args);

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

beforeAll(async () => {
  cloudflare = await new CloudflareStandIn().start();
});
afterEach(() => {
  cloudflare.faults = [];
  expect(cloudflare.unknown).toEqual([]);
});
afterAll(async () => {
  await Promise.all(projects.map((project) => project.remove()));
  await cloudflare.stop();
});

describe('deploy, before it touches anything', () => {
  it('says how to get credentials when there are none', async () => {
    // The real wrangler, which takes two seconds to say so, runs in the long run.
    const project = clone(isFull ? undefined : QUICK);
    const nowhere = { HOME: project.directory, XDG_CONFIG_HOME: project.directory };
    project.environment = { ...cloudflare.environment, CLOUDFLARE_API_TOKEN: '', ...nowhere };
    const { code, stderr } = await deploy(project);
    expect(code).toBe(1);
    expect(stderr).toContain('set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`');
    expect(stderr).toContain(UNTOUCHED);
  });

  it('finds a bundle that does not build', async () => {
    const project = clone();
    const text = "export { RateCounter } from './missing.ts';\nexport default {};\n";
    project.write('src/index.ts', text);
    const { code, stderr } = await deploy(project);
    expect(code).toBe(1);
    expect(stderr).toContain('Not deployed to production: the bundle cannot be built');
    expect(stderr).toContain('missing.ts');
    expect([cloudflare.account.databases, cloudflare.account.namespaces]).toEqual([[], []]);
  });
});

describe('deploy', () => {
  it('brings the service up from nothing', async () => {
    const project = clone();
    configureDomain(project);
    cloudflare.account.zones.push({ id: 'z', name: 'example.com' });
    const first = await deploy(project, '--location', 'weur');
    expectDone(first);
    expect(first.stdout).toContain(`database ${NAME}: created, 0 % of 10 GB`);
    expect(first.stdout).toContain(`KV namespace ${NAME}-idempotency: created`);
    expect(first.stdout).toMatch(/Time Travel bookmark before this deployment: [0-9a-f-]{40}/);
    expect(first.stdout).toMatch(/^migrated: 0000_init\.sql/m);
    expect(first.stdout).toMatch(/Served now: version [0-9a-f-]{36} \(\S+\) at http\S+, all is up/);
    expect(first.stdout).toContain(
      'No API key is set yet: `npx wrangler secret put API_KEY --env=`',
    );

    const database = cloudflare.account.database(NAME);
    expect(database.location).toBe('weur');
    expect(cloudflare.account.domains).toMatchObject([
      { hostname: 'api.example.com', service: NAME },
    ]);
    const { current } = cloudflare.account.workers.get(NAME) ?? {};
    expect(current).toMatchObject({
      databaseId: database.uuid,
      namespaceId: cloudflare.account.namespaces[0]?.id,
    });
    const map: unknown = JSON.parse(current?.files.get('index.js.map') ?? '');
    expect(map).toMatchObject({
      sources: expect.arrayContaining([expect.stringMatching(/src\/app\.ts$/)]),
      mappings: expect.stringMatching(/^.{10000}/),
    });
    // The copy is no repository.
    expect(current?.annotations).toMatchObject({
      'workers/tag': 'no-commit',
      'workers/message': 'deployed without git',
    });
    // The bundle that other tests serve, with the binding that names its version.
    const bundle = readFileSync(await productionBundle(), 'utf8').trimEnd();
    expect(current?.files.get('index.js') === bundle).toBe(true);
    expect(current?.bindings).toContainEqual(
      expect.objectContaining({ name: 'CF_VERSION_METADATA', type: 'version_metadata' }),
    );
    // Nothing of the account is left in the working copy.
    const toml = readFileSync(join(project.directory, 'wrangler.toml'), 'utf8');
    expect(toml).not.toContain(database.uuid);
  });

  it('deploys again from a clean clone, beside others of their names, with no second resource', async () => {
    const { account } = cloudflare;
    const [own] = account.namespaces;
    const others = Array.from({ length: 150 }, (_, index) => {
      return { id: `other-${index}`, title: `other ${index}`, supports_url_encoding: true };
    });
    account.namespaces.unshift(...others);
    const again = await deploy(clone(QUICK));
    account.namespaces.splice(0, others.length);
    expectDone(again);
    expect(again.stdout).toContain(`database ${NAME}: found`);
    expect(again.stdout).toContain(`KV namespace ${NAME}-idempotency: found`);
    expect(again.stdout).toContain('no migration is pending');
    expect(again.stdout).not.toContain('No API key is set');
    expect([account.databases.length, account.namespaces]).toEqual([1, [own]]);
    expect(account.workers.get(NAME)?.versions).toHaveLength(2);
  });

  it('keeps staging apart', async () => {
    const { account } = cloudflare;
    const before = account.workers.get(NAME)?.versions.length;
    const project = clone(REAL_UPLOAD);
    configureDomain(project);
    const staged = await deploy(project, '--env', 'staging');
    expectDone(staged);
    expect(staged.stdout).toContain('`npx wrangler secret put API_KEY --env=staging`');
    const [production, staging] = [account.workers.get(NAME), account.workers.get(STAGING)];
    expect(production?.versions).toHaveLength(before ?? 0);
    expect(staging?.current.databaseId).toBe(account.database(STAGING).uuid);
    expect(staging?.current.databaseId).not.toBe(production?.current.databaseId);
    expect(staging?.current.namespaceId).not.toBe(production?.current.namespaceId);
    expect(account.domains).toMatchObject([{ hostname: 'api.example.com', service: NAME }]);
  });

  it('changes nothing when a migration fails, and deploys when it is mended', async () => {
    const { account } = cloudflare;
    const before = account.workers.get(NAME)?.versions.length;
    const project = clone(QUICK);
    project.write('migrations/9998_fine-and-well.sql', 'CREATE TABLE fine (id text);');
    project.write(
      'migrations/9999_wrong.sql',
      'CREATE TABLE wrong (id text);\n--> statement-breakpoint\nALTER TABLE nowhere ADD a text;',
    );
    const failed = await deploy(project);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('the migration 9999_wrong.sql failed');
    expect(failed.stderr).toContain('no such table: nowhere');
    expect(failed.stderr).toContain(MIGRATED);
    expect(account.workers.get(NAME)?.versions).toHaveLength(before ?? 0);
    const tables = account
      .database(NAME)
      .rows(`SELECT name FROM sqlite_schema WHERE name IN ('fine', 'wrong')`);
    expect(tables).toEqual([{ name: 'fine' }]);
    project.write('migrations/9999_wrong.sql', 'CREATE TABLE wrong (id text);');
    expectDone(await deploy(project));
  });
});

describe.runIf(isFull)('deploy, after a failure in the middle', () => {
  const CREATION = /^POST .*\/d1\/database$/;
  const QUERY = /^POST .*\/query$/;
  const UPLOAD = /^PUT .*\/workers\/scripts\/[^/]+$/;
  const LOST = { status: 502, isAfter: true };

  it.each<[what: string, fault: Fault, code: number, message: string]>([
    ['the response to the creation is lost', { ...LOST, request: CREATION, times: 1 }, 0, ''],
    ['the bookmark cannot be read', { request: /bookmark$/, status: 500 }, 1, UNTOUCHED],
    ['the migration cannot be sent', { request: QUERY, status: 500, skip: 3 }, 1, MIGRATED],
    [
      'the response to the migration is lost',
      { ...LOST, request: QUERY, skip: 3, times: 1 },
      0,
      '',
    ],
    ['the upload fails', { request: UPLOAD, status: 400 }, 1, MIGRATED],
    ['the response to the upload is lost', { ...LOST, request: UPLOAD }, 2, 'a step of wrangler'],
  ])('is repeated: %s', async (_, fault, code, message) => {
    const own = await new CloudflareStandIn().start();
    try {
      const project = clone();
      project.environment = own.environment;
      own.faults = [fault];
      const failed = await deploy(project);
      expect(failed.code).toBe(code);
      if (code === 1) expect(failed.stderr).toMatch(/^Not deployed to production: /m);
      expect(failed.stderr).toContain(message);
      own.faults = [];
      useQuickWrangler(project);
      expectDone(await deploy(project));
      expect([own.account.databases.length, own.account.namespaces.length]).toEqual([1, 1]);
      expect(own.unknown).toEqual([]);
    } finally {
      await own.stop();
    }
  });
});
