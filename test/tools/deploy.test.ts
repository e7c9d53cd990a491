/**
 * `npm run deploy` against a stand-in of Cloudflare: once with the real wrangler, which takes the
 * stand-in for the real one, and with a replaced wrangler for its decisions.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWrangler } from '../../tools/cloudflare/wrangler.ts';
import { migrationNames } from '../../tools/database/migrations.ts';
import { command } from '../../tools/deploy.ts';
import { Database } from '../support/cloudflare/database.ts';
import { CloudflareStandIn, type Fault } from '../support/cloudflare/stand-in.ts';
import { runHere } from '../support/node/in-process.ts';
import { neutralConfig } from '../support/node/neutral-config.ts';
import { productionBundle } from '../support/node/production-service.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
/** With an operator's own site: `deploy` rejects that of an example. */
const CONFIG = neutralConfig(readFileSync('wrangler.toml', 'utf8')).replaceAll(
  /https:\/\/(www|staging)\.example\.com/g,
  'https://www.sa-punta.test',
);
const set = (from: string, to: string) => CONFIG.replaceAll(from, to);
const WITH_DOMAIN = set(
  '[env.staging]',
  '[env.staging]\nroutes = [{ pattern = "api.sa-punta.test", custom_domain = true }]',
);
const MISSPELT = set(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);
const VARS = '[env.staging.vars]';
/** 31 keys, with which a var is too large. */
const KEYS = `API_KEYS = ${JSON.stringify(
  Array.from({ length: 31 }, (_, n) => ({
    name: `marketing-site-${n}`,
    scopes: ['feed:read'],
    sha256: `${n}`.padStart(64, '0'),
    expires: '2027-01-31',
    rate_limit: 6000,
  })),
).replaceAll(/"(\w+)":/g, '$1 = ')}`;
const inJurisdiction = (name: string) => set('JURISDICTION = ""', `JURISDICTION = "${name}"`);

let cloudflare: CloudflareStandIn;

beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
});
afterEach(() => cloudflare.stop());

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

describe('deploy', () => {
  let directory: string;
  let failsAt: 'build' | 'upload' | undefined;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'deploy-'));
    failsAt = undefined;
    configure(CONFIG);
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const configure = (config: string) => writeFileSync(join(directory, 'wrangler.toml'), config);

  /** Leaves the account as wrangler leaves it, and prints the line of wrangler that `deploy` reads. */
  async function wrangler(args: readonly string[]) {
    const value = (option: string) => args[args.indexOf(option) + 1] ?? '';
    const step = args.includes('--dry-run') ? 'build' : 'upload';
    const failure = 'Could not resolve "./missing.ts"\nCurrent Version ID: none';
    if (step === failsAt) return { isDone: false, output: failure };
    if (step === 'build') return { isDone: true, output: '' };
    const all = JSON.parse(readFileSync(value('--config'), 'utf8'));
    const [, environment = ''] = args.find((arg) => arg.startsWith('--env'))?.split('=') ?? [];
    const own = { ...all, ...all.env[environment] };
    const id = cloudflare.upload(own.name, {
      tag: value('--tag'),
      message: value('--message'),
      bound: [own.d1_databases[0].database_id, own.kv_namespaces[0].id],
      script: '',
    });
    // As wrangler's default is.
    const address =
      (own.workers_dev ?? !own.routes?.length) ? 'https://feed.example.workers.dev' : '';
    return { isDone: true, output: `  ${address}\nCurrent Version ID: ${id}` };
  }

  const run = (request: Parameters<typeof command.run>[0]) =>
    command.run(request, { directory, wrangler, patienceMs: 0 });
  const deploy = (...args: string[]) => runHere({ ...command, run }, ...args);

  async function expectDeployed(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await deploy(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  }

  /** Everything in the account that a deployment could change. */
  function contents(): unknown {
    const { databases, namespaces, workers } = cloudflare;
    const tables = databases.map((each) => each.rows('SELECT name FROM sqlite_schema'));
    return structuredClone({ tables, namespaces, workers });
  }

  const place = (tables: string) => {
    const database = new Database(STAGING);
    database.sqlite.exec(tables);
    cloudflare.databases.push(database);
  };

  const STOPS: Record<string, () => unknown> = {
    'staging would share the route api.sa-punta.test/* with production: give each its own': () =>
      configure(`route = "api.sa-punta.test/*"\n${CONFIG}`),
    [`staging would share the database ${NAME} with production: `]: () =>
      configure(set(`database_name = "${STAGING}"`, `database_name = "${NAME}"`)),
    [`staging would share the Worker ${NAME} with production: `]: () =>
      configure(set(`name = "${STAGING}"`, `name = "${NAME}"`)),
    'staging would share the namespace f00d with production: ': () =>
      configure(set('preview_id', 'id = "f00d"\npreview_id')),
    '[env.staging] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty': () =>
      configure(inJurisdiction('europe')),
    '[env.staging] of wrangler.toml lacks a name, a D1 database DB with a database_name, or a KV':
      () => configure(set('binding = "DB"', 'binding = "D"')),
    '[env.staging] of wrangler.toml: API_KEYS has 5': () =>
      configure(set(VARS, `${VARS}\n${KEYS}`)),
    '[env.staging] of wrangler.toml: ENVIRONMENT must not be development': () =>
      configure(set('ENVIRONMENT = "production"', 'ENVIRONMENT = "development"')),
    "[env.staging] of wrangler.toml still has the example's PUBLIC_SITE_URL (https://staging.example.com): set your own":
      () => configure(set('www.sa-punta.test', 'staging.example.com')),
    "[env.staging] of wrangler.toml still has the example's JWT_ISSUER (https://identity.example.com/): ":
      () => configure(set('JWT_JWKS_URL = ""', 'JWT_JWKS_URL = "https://id.sa-punta.test/jwks"')),
    "[env.staging] of wrangler.toml still has the example's route (api.example.org): ": () =>
      configure(WITH_DOMAIN.replaceAll('api.sa-punta.test', 'api.example.org')),
    'the token lacks Account · Workers Scripts · Edit (GET /workers/scripts), Account · D1 · Edit (GET /d1/database), Account · Workers KV Storage · Edit (GET /storage/kv/namespaces): see "What you need"':
      () => {
        cloudflare.denied = /scripts|d1|kv/;
      },
    'the account has no workers.dev subdomain, where the Worker would be served: ': () => {
      cloudflare.subdomain = undefined;
    },
    'the domain api.sa-punta.test has a DNS record of something else (CNAME old.host.test): ':
      () => {
        configure(WITH_DOMAIN);
        const name = 'api.sa-punta.test';
        const records = [
          { type: 'MX', name, content: 'mail.host.test' },
          { type: 'CNAME', name, content: 'old.host.test' },
        ];
        cloudflare.zones.push({ id: 'zone', name: 'sa-punta.test', records });
      },
    '[env.staging] of wrangler.toml has workers_dev = true beside a route: ': () =>
      configure(`workers_dev = true\n${WITH_DOMAIN}`),
    'the bundle cannot be built\nCould not resolve "./missing.ts"': () => {
      failsAt = 'build';
    },
    'the credentials open 2 accounts: set CLOUDFLARE_ACCOUNT_ID': () =>
      cloudflare.accounts.push({ id: 'b'.repeat(32) }),
    'the custom domain api.sa-punta.test leads to the Worker shop': () => {
      configure(WITH_DOMAIN);
      cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: 'shop' });
    },
    [`the Worker ${STAGING} serves already, and the account lacks its D1 database feed or its KV`]:
      async () => {
        await expectDeployed('--env', 'staging');
        configure(set(`database_name = "${STAGING}"`, 'database_name = "feed"'));
      },
    'this database is newer than your working copy (9999_later.sql): git pull && npm ci': () =>
      place(
        `CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
         INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')`,
      ),
    'a restore of this database is not finished': () =>
      place('CREATE TABLE database_identity (lineage text)'),
    'the database has the tables of another application (orders): is database_name in': () =>
      place('CREATE TABLE orders (id text)'),
    [`the database ${STAGING} is in no jurisdiction, and JURISDICTION in wrangler.toml asks for the jurisdiction eu.`]:
      () => {
        place('');
        configure(inJurisdiction('eu'));
      },
  };

  it.each(Object.entries(STOPS))(
    'stops before it changes anything: %s',
    async (reason, arrange) => {
      await arrange();
      const before = contents();
      const { code, stderr } = await deploy('--env', 'staging');
      expect(code).toBe(1);
      expect(stderr).toContain(`The deployment to staging failed at the checks: ${reason}`);
      const again = 'npm run deploy -- --env staging';
      expect(stderr).toContain(`.\nNothing has changed. \`${again}\` may be repeated.\n`);
      expect(contents()).toEqual(before);
    },
  );

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
      if (request === undefined || fault === undefined) failsAt = 'upload';
      else failOnce(request, fault);
      const failed = await deploy('--env', 'staging');
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain(`The deployment to staging failed at the ${step}`);
      expect(failed.stderr).toContain(known);
      const left = /\nLeft to do: (.*)\.\nNo API key is set yet: /.exec(failed.stderr)?.[1];
      const ALL = 'resources, migrations, read replicas, upload, health check';
      expect(left).toBe(ALL.slice(ALL.indexOf(step.split(':')[0] ?? '')));
      failsAt = undefined;
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

  it('does not check the records of a domain that the token does not open, and says so', async () => {
    configure(WITH_DOMAIN);
    cloudflare.subdomain = undefined;
    const NOT_CHECKED =
      'DNS records of api.sa-punta.test: not checked, the token lacks Zone · DNS · Read\n';
    expect(await expectDeployed('--env', 'staging')).toContain(NOT_CHECKED);
    const record = { type: 'MX', name: 'api.sa-punta.test', content: 'mail.host.test' };
    cloudflare.zones.push({ id: 'zone', name: 'sa-punta.test', records: [record] });
    cloudflare.denied = /dns_records/;
    expect(await expectDeployed('--env', 'staging')).toContain(NOT_CHECKED);
    cloudflare.denied = undefined;
    expect(await expectDeployed('--env', 'staging')).not.toContain('not checked');
  });

  it('with --dry-run says what it would do, and changes nothing', async () => {
    const SECRET = '\nNo API key is set yet: `npx wrangler secret put API_KEY --env=`\n';
    const first = await expectDeployed('--dry-run');
    expect(first).toContain(
      `\nNothing has changed. A deployment would:
- create the database ${NAME}
- create the KV namespace ${NAME}-idempotency
- migrate: ${migrationNames().join(', ')}
- switch the read replicas of the database on
- upload the version no-commit (deployed without git)
- check its health${SECRET}`,
    );
    expect(cloudflare.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
    expect([cloudflare.databases, cloudflare.namespaces]).toEqual([[], []]);
    await expectDeployed();
    const before = contents();
    cloudflare.secrets.set(NAME, ['API_KEY']);
    expect(await expectDeployed('--dry-run')).toMatch(
      /\nNothing has changed. A deployment would:\n- upload the version .*\n- check its health\n$/,
    );
    expect(contents()).toEqual(before);
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

  it('reports a degraded version as served, and one that is down or does not respond as a failure', async () => {
    cloudflare.health.rate_limiter = 'down';
    expect(await expectDeployed()).toContain(', degraded: rate_limiter is down\n');
    cloudflare.health.database = 'down';
    const down = await deploy();
    expect(down.code).toBe(1);
    expect(down.stderr).toMatch(
      /failed at the health check: version \S+ is deployed, and \S+\/api\/health\/detailed says that it is down: database, rate_limiter\.\n/,
    );
  });

  it('requests the health at the custom domain or at workers.dev, if there is either', async () => {
    vi.stubEnv('SERVICE_ORIGIN', '');
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      if (url.startsWith(cloudflare.origin)) return fetch(url, init);
      throw new Error('offline');
    });
    const unreachable = (origin: string) =>
      expect.stringContaining(
        `is deployed, and ${origin}/api/health/detailed gets its responses from nothing that is usable (offline). Request it again in some minutes`,
      );
    cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: STAGING });
    configure(`route = "www.sa-punta.test/*"\n${WITH_DOMAIN}`);
    expect((await deploy('--env', 'staging')).stderr).toEqual(
      unreachable('https://api.sa-punta.test'),
    );
    configure(CONFIG);
    expect((await deploy()).stderr).toEqual(unreachable('https://feed.example.workers.dev'));
    configure(`workers_dev = false\n${CONFIG}`);
    expect(await expectDeployed()).toContain('without an address yet: add a route, or set workers');
    vi.unstubAllGlobals();
  });

  it.each([
    [
      { 'cf-mitigated': 'challenge' },
      '<title>Just a moment...</title>',
      'cf-mitigated: challenge',
      'Bot Fight Mode',
    ],
    [{}, 'error code: 1010', 'error code: 1010', 'Browser Integrity Check'],
  ])(
    'names the setting of the zone that turns the health check away: %j',
    async (headers, body, fact, setting) => {
      const { fetch } = globalThis;
      vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
        if (!url.endsWith('/api/health/detailed')) return fetch(url, init);
        return new Response(body, {
          status: 403,
          headers: { 'Content-Type': 'text/html', ...headers },
        });
      });
      const { code, stderr } = await deploy();
      vi.unstubAllGlobals();
      expect(code).toBe(1);
      expect(stderr).toContain(
        `gets its responses from something else (HTTP 403, text/html, ${fact}). The zone turns programs away: switch ${setting} off, see "The zone" in docs/operate/runbook.md.\n`,
      );
    },
  );

  describe('in a repository', () => {
    const git = (...args: string[]) => {
      const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
      return execFileSync('git', [...identity, ...args], { cwd: directory, encoding: 'utf8' });
    };
    const commit = (subject: string) => git('commit', '-q', '--allow-empty', '-m', subject);
    beforeEach(() => {
      git('init', '-q');
      git('add', '-A');
      commit(`a long subject, ${'and more '.repeat(20)}`);
    });

    it('names the commit, and whether files differ from it', async () => {
      await expectDeployed();
      const { id, tag, message } = cloudflare.served(NAME);
      expect(tag).toMatch(/^[0-9a-f]{12}$/);
      expect(git('rev-parse', tag)).toBe(git('rev-parse', 'HEAD'));
      expect(message).toMatch(new RegExp(`^${tag} a long subject, and more`));
      // Cloudflare takes no longer one.
      expect(message).toHaveLength(100);
      writeFileSync(join(directory, 'new.ts'), '');
      const printed = await expectDeployed();
      expect(printed).toContain(
        `Replaces version ${id} (${tag}), deployed by anna@example.com at 2026-11-20T10:00:00Z\n`,
      );
      expect(printed).toContain(` (${tag}-dirty) at `);
      expect(await expectDeployed()).toContain(` (${tag}-dirty), deployed by `);
    });

    it.each<[lack: string, arrange: () => unknown]>([
      ['is newer than your working copy: `git pull`', () => git('reset', '-q', '--hard', 'HEAD^')],
      [
        'has commits that your working copy lacks: merge them',
        () => {
          git('reset', '-q', '--hard', 'HEAD^');
          commit('another');
        },
      ],
      [
        'its commit is not in your working copy: `git fetch` (`--unshallow` in CI)',
        () => {
          rmSync(join(directory, '.git'), { recursive: true });
          git('init', '-q');
          git('add', '-A');
          commit('a clone without the commit');
        },
      ],
    ])('replaces no version that serves and %s', async (lack, arrange) => {
      commit('later');
      await expectDeployed();
      const { id, tag } = cloudflare.served(NAME);
      arrange();
      const { code, stderr } = await deploy();
      expect(code).toBe(1);
      expect(stderr).toContain(
        `failed at the checks: version ${id} (${tag}), deployed by anna@example.com at 2026-11-20T10:00:00Z, serves, and ${lack}. \`--replace\` replaces it all the same.\nNothing has changed.`,
      );
      expect(cloudflare.served(NAME).id).toBe(id);
      await expectDeployed('--replace');
      expect(cloudflare.served(NAME).id).not.toBe(id);
    });
  });

  it('replaces no version that was deployed since its checks, but with --replace', async () => {
    await expectDeployed();
    let other = '';
    const deployMeanwhile = () => {
      cloudflare.fault = (request) => {
        if (!request.includes('time_travel')) return undefined;
        cloudflare.fault = () => undefined;
        other = cloudflare.upload(NAME, { tag: 'other', message: '', bound: [], script: '' });
        return undefined;
      };
    };
    deployMeanwhile();
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `failed at the upload: version ${other} (other), deployed by anna@example.com at 2026-11-20T10:00:00Z, has come between: look at it`,
    );
    expect(cloudflare.served(NAME).id).toBe(other);
    deployMeanwhile();
    await expectDeployed('--replace');
    expect(cloudflare.served(NAME).id).not.toBe(other);
  });

  it('names the version that another deployment has put in its place after the upload', async () => {
    cloudflare.fault = (request) => {
      if (!request.includes('health')) return undefined;
      cloudflare.upload(NAME, { tag: 'other', message: '', bound: [], script: '' });
      return undefined;
    };
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /failed at the health check: version \S+ \(other\), .* has come between: /,
    );
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
});
