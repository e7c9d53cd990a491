/** `npm run deploy`: what it stops at, what it does, and what it says of what serves. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runWrangler } from '../../../tools/cloudflare/wrangler.ts';
import { command } from '../../../tools/commands/deploy.ts';
import { migrationNames } from '../../../tools/database/migrations.ts';
import { Database } from '../../support/cloudflare/database.ts';
import {
  CONFIG,
  cloudflare,
  configure,
  contents,
  deploy,
  directory,
  expectDeployed,
  failAt,
  NAME,
  STAGING,
  set,
  useDeployer,
} from '../../support/cloudflare/deployer.ts';
import type { Fault } from '../../support/cloudflare/fake-cloudflare.ts';
import { getBundle } from '../../support/node/bundles.ts';
import { letGitRefuse, runGit, skipWithoutGit } from '../../support/node/git.ts';
import { runHere } from '../../support/node/in-process.ts';
import { ProjectCopy } from '../../support/node/project-copy.ts';

useDeployer();

const STAGED = ['--env', 'staging'];
const DOMAIN = '{ pattern = "api.sa-punta.test", custom_domain = true }';
const WITH_DOMAIN = set('[env.staging]', `[env.staging]\nroutes = [${DOMAIN}]`);
const MISSPELT = set(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);
const inJurisdiction = (name: string) => set('JURISDICTION = ""', `JURISDICTION = "${name}"`);

const place = (tables: string, name = STAGING) => {
  const database = new Database(name);
  database.sqlite.exec(tables);
  cloudflare.databases.push(database);
};

/** Fails the first request that matches. */
function failOnce(request: RegExp, fault: Fault): void {
  cloudflare.fault = (name, body) => {
    if (!request.test(`${name} ${body}`)) return undefined;
    cloudflare.fault = () => undefined;
    return fault;
  };
}

const git = (...args: string[]) => runGit(directory, ...args);
const commit = (subject: string) => git('commit', '-q', '--allow-empty', '-m', subject);
const makeRepository = () => {
  skipWithoutGit();
  git('init', '-q');
  git('add', '-A');
  commit(`a long subject, ${'and more '.repeat(20)}`);
};

/** Deploys the second of two commits, and then changes the working copy. */
async function deployLater(change: () => unknown): Promise<void> {
  makeRepository();
  commit('later');
  await expectDeployed(...STAGED);
  change();
}

const DEPLOYED = 'deployed by anna@example.com at 2026-11-20T10:00:00Z';
const LATER = `${DEPLOYED}, serves, and its commit is not in the history of your working copy`;

/** The reason, perhaps with its case in brackets → what leads to it. */
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
  '[env.staging] of wrangler.toml does not have a name, a D1 database DB with a database_name, or':
    () => configure(set('binding = "DB"', 'binding = "D"')),
  '[env.staging] of wrangler.toml: ENVIRONMENT must not be development': () =>
    configure(set('ENVIRONMENT = "production"', 'ENVIRONMENT = "development"')),
  "[env.staging] of wrangler.toml: PUBLIC_SITE_URL is still an example's (https://staging.example.com)":
    () => configure(set('www.sa-punta.test', 'staging.example.com')),
  'the bundle cannot be built\nCould not resolve "./missing.ts"': () => failAt('build'),
  'the credentials open 2 accounts: set CLOUDFLARE_ACCOUNT_ID': () =>
    cloudflare.accounts.push({ id: 'b'.repeat(32) }),
  'Authentication error [code: 10000] (GET /d1/database)': () => {
    cloudflare.denied = /d1/;
  },
  'the custom domain api.sa-punta.test leads to the Worker shop': () => {
    configure(WITH_DOMAIN);
    cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: 'shop' });
  },
  [`the Worker ${STAGING} serves already, and the account does not have its D1 database feed or its`]:
    async () => {
      await expectDeployed(...STAGED);
      configure(set(`database_name = "${STAGING}"`, 'database_name = "feed"'));
    },
  'this database is newer than your working copy (9999_later.sql): git pull && npm ci': () =>
    place(
      `CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
         INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')`,
    ),
  'a restore of this database is not finished': () =>
    place('CREATE TABLE restoring_5f0c31d2a4b97e60_events (seq integer)'),
  'the database has the tables of another application (orders): is database_name in': () =>
    place('CREATE TABLE orders (id text)'),
  [`the database ${STAGING} is in no jurisdiction, and JURISDICTION in wrangler.toml is the jurisdiction eu.`]:
    () => {
      place('');
      configure(inJurisdiction('eu'));
    },
  [`${LATER} (newer)`]: () => deployLater(() => git('reset', '-q', '--hard', 'HEAD^')),
  [`${LATER} (another)`]: () =>
    deployLater(() => {
      git('reset', '-q', '--hard', 'HEAD^');
      commit('another');
    }),
  [`${LATER} (unknown)`]: () =>
    deployLater(() => {
      rmSync(join(directory, '.git'), { recursive: true });
      makeRepository();
    }),
  // A checkout of another owner, as in a container.
  'fatal: detected dubious ownership in repository at': () =>
    deployLater(() => {
      git('reset', '-q', '--hard', 'HEAD^');
      letGitRefuse();
    }),
  'fatal: not a git repository: /gone/worktree\n(printed by `git log`)': () => {
    skipWithoutGit();
    writeFileSync(join(directory, '.git'), 'gitdir: /gone/worktree');
  },
  "fatal: your current branch 'main' does not have any commits yet": () => {
    skipWithoutGit();
    git('init', '-qb', 'main');
  },
};

it.each(Object.entries(STOPS))('stops before it changes anything: %s', async (reason, arrange) => {
  await arrange();
  const before = contents();
  const { code, stderr } = await deploy(...STAGED);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The deployment to staging failed at the checks: /);
  expect(stderr).toContain(reason.replace(/ \(\w+\)$/, ''));
  const again = 'npm run deploy -- --env staging';
  expect(stderr).toMatch(new RegExp(`\\.\nNothing was changed. You can repeat \`${again}\`.\n$`));
  expect(contents()).toEqual(before);
});

const CREATED =
  'A created resource stays. No data was touched, and the active deployment was not changed.';
const MIGRATED = 'Migrations that were applied stay. The active deployment was not changed.';
const MIGRATION = /^POST .*\/query .*batch/;
const uploadOther = () =>
  cloudflare.upload(STAGING, { tag: 'other', message: '', bound: [], script: '' });

/** A step and its reason to fail → what is known then, and what leads to it. */
const FAILURES: Record<string, [known: string, arrange: () => unknown]> = {
  'resources: a fault [code: 10001] (POST /d1/database)': [
    CREATED,
    () => failOnce(/^POST .*\/d1\/database /, { status: 403 }),
  ],
  'resources: Error: the title exists': [
    CREATED,
    () => failOnce(/^POST .*\/namespaces /, { status: 502, isAfter: true }),
  ],
  'migrations: the migration 0000_init.sql': [MIGRATED, () => failOnce(MIGRATION, { status: 400 })],
  'migrations: a fault [code: 10001] (PUT /d1/database': [
    MIGRATED,
    () => failOnce(/^PUT .*\/d1\/database/, { status: 403 }),
  ],
  'upload: wrangler has printed the reason above': [
    'The database has the new schema. `npx wrangler deployments list --env=staging` lists what serves.',
    () => failAt('upload'),
  ],
  'upload: version ': [
    'The database has the new schema.',
    async () => {
      await expectDeployed(...STAGED);
      cloudflare.fault = (request) => {
        if (request.includes('time_travel')) uploadOther();
        return undefined;
      };
    },
  ],
  'health check: version ': [
    '"When a deployment fails" in docs/operate/runbook.md has the next step.',
    () => {
      cloudflare.health.database = 'down';
    },
  ],
};

it.each(Object.entries(FAILURES))(
  'says what is known when a step fails, and may be repeated: %s',
  async (failure, [known, arrange]) => {
    await arrange();
    const { code, stderr } = await deploy(...STAGED);
    expect(code).toBe(1);
    expect(stderr).toContain(`The deployment to staging failed at the ${failure}`);
    expect(stderr).toContain(`.\n${known}`);
    failAt(undefined);
    cloudflare.fault = () => undefined;
    cloudflare.health.database = 'ok';
    expect(await expectDeployed(...STAGED)).toContain(', all is up\n');
    expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([1, 1]);
  },
);

type Success = {
  arrange?: () => unknown;
  args?: string[];
  /** What the deployment prints, and what it does not. */
  says?: string[];
  never?: string[];
  /** What it leaves. */
  leaves?: () => unknown;
};

const SWITCHED = '- switch the read replicas of the database on\n';
const KEYS_AT = (url: string) => set('JWT_JWKS_URL = ""', `JWT_JWKS_URL = "${url}"`);
const database = () => cloudflare.database(NAME);

const SUCCESSES: Record<string, Success> = {
  'finds its resources beside others of similar names': {
    arrange: async () => {
      cloudflare.databases.push(new Database(`${NAME}-old`));
      for (let n = 0; n < 50; n += 1) {
        cloudflare.namespaces.push({ id: `${n}`, title: `other-${n}` });
      }
      await expectDeployed();
    },
    says: ['\nIt will:\n- upload the version no-commit (deployed without git)\n'],
    leaves: () => {
      expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([2, 51]);
      const ids = [database().uuid, cloudflare.namespaces[50]?.id];
      expect(cloudflare.served(NAME).bound).toEqual(ids);
    },
  },
  'says of a first deployment that no API key is set, and how': {
    args: STAGED,
    says: [', all is up\nNo API key is set yet: `npx wrangler secret put API_KEY --env=staging`\n'],
  },
  'makes the missing resources of a Worker with --create': {
    arrange: async () => {
      await expectDeployed();
      configure(MISSPELT.replaceAll('JURISDICTION = ""', 'JURISDICTION = "eu"'));
      cloudflare.namespaces.length = 0;
    },
    args: ['--create'],
    leaves: () => {
      expect(cloudflare.database(`${NAME}s`).jurisdiction).toBe('eu');
      expect(cloudflare.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
    },
  },
  'says nothing later of keys, of read replicas that are on, and of a database that is 69 % full': {
    arrange: async () => {
      await expectDeployed();
      database().file_size = 6_900_000_000;
    },
    never: ['API key', SWITCHED, '%'],
  },
  'says how full the database is from 70 % on, and names the remedy': {
    arrange: async () => {
      await expectDeployed();
      database().file_size = 7_000_000_000;
    },
    says: [
      `${NAME} has 70 % of 10 GB: see "When the database fills up" in docs/operate/runbook.md\n`,
    ],
  },
  'chooses by CLOUDFLARE_ACCOUNT_ID among accounts': {
    arrange: () => {
      vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', cloudflare.accounts[0]?.id);
      cloudflare.accounts.push({ id: 'b'.repeat(32) });
    },
  },
  'switches read replicas on': {
    arrange: () => expectDeployed('--no-replicas'),
    says: [SWITCHED],
    leaves: () => expect(database().read_replication.mode).toBe('auto'),
  },
  'leaves read replicas with --no-replicas': {
    args: ['--no-replicas'],
    never: [SWITCHED],
    leaves: () => expect(database().read_replication.mode).toBe('disabled'),
  },
  'reports a degraded version as served': {
    arrange: () => {
      cloudflare.health.rate_limiter = 'down';
    },
    says: [', degraded: rate_limiter is down\n'],
  },
  'needs no address': {
    arrange: () => {
      vi.stubEnv('SERVICE_ORIGIN', '');
      configure(`workers_dev = false\n${CONFIG}`);
    },
    says: ['without an address yet: add a route, or set workers_dev = true\n'],
  },
  'names the commit, and the version that it replaces': {
    arrange: async () => {
      makeRepository();
      await expectDeployed();
      writeFileSync(join(directory, 'new.ts'), '');
    },
    says: ['Replaces version ', `), ${DEPLOYED}\n`, '-dirty) at '],
    leaves: () => {
      const { tag, message } = cloudflare.served(NAME);
      const [id = ''] = tag.split('-dirty');
      expect(git('rev-parse', id)).toBe(git('rev-parse', 'HEAD'));
      expect(message).toMatch(new RegExp(`^${id} a long subject, and more`));
      // Cloudflare takes no longer one.
      expect([id.length, message.length]).toEqual([12, 100]);
    },
  },
  'replaces a newer version with --replace': {
    arrange: async () => {
      await deployLater(() => git('reset', '-q', '--hard', 'HEAD^'));
      cloudflare.fault = (request) => {
        if (request.includes('time_travel')) uploadOther();
        return undefined;
      };
    },
    args: [...STAGED, '--replace'],
    leaves: () => expect(cloudflare.served(STAGING).tag).not.toBe('other'),
  },
  'says how many keys a provider has, and which entries will be ignored': {
    arrange: () => configure(KEYS_AT(`${cloudflare.origin}/api/keys`)),
    says: ['ignored in the key set: entry 3 (kid "no-type") has no kty\n', '/api/keys: 2\n'],
  },
  'says which entries of JWT_JWKS will be ignored': {
    arrange: () => configure(set('JWT_JWKS = ""', `JWT_JWKS = '{"keys":[{"kty":"EC"},null]}'`)),
    says: ['ignored in the key set: entry 1 is not a JSON object\n'],
  },
  'says that a provider has no usable key': {
    arrange: () => configure(KEYS_AT(`${cloudflare.origin}/api/none`)),
    says: [
      'No bearer token will be valid, because of http://127.0.0.1:',
      '/api/none: JWT_JWKS_URL ',
    ],
  },
};

it.each(Object.entries(SUCCESSES))('%s', async (_title, success) => {
  const { arrange, args = [], says = [], never = [], leaves } = success;
  await arrange?.();
  const printed = await expectDeployed(...args);
  for (const said of [...says, '\nServed now: version ']) expect(printed).toContain(said);
  for (const unsaid of never) expect(printed).not.toContain(unsaid);
  leaves?.();
});

it('with --dry-run says what it would do, and changes nothing', async () => {
  const first = await expectDeployed('--dry-run');
  expect(first).toContain(
    `\nNothing was changed. A deployment would:
- create the database ${NAME}
- create the KV namespace ${NAME}-idempotency
- migrate: ${migrationNames().join(', ')}
- switch the read replicas of the database on
- upload the version no-commit (deployed without git)
- check its health\n`,
  );
  expect(cloudflare.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  expect([cloudflare.databases, cloudflare.namespaces]).toEqual([[], []]);
  await expectDeployed();
  const before = contents();
  expect(await expectDeployed('--dry-run')).toMatch(
    /\nNothing was changed. A deployment would:\n- upload the version .*\n- check its health\n$/,
  );
  expect(contents()).toEqual(before);
});

it('a 429 after the migration is no failure', async () => {
  failOnce(MIGRATION, { status: 429, isAfter: true, retryAfter: '1' });
  await expectDeployed();
});

it.each<[origin: string, config: string, respond: () => Response, responder: string]>([
  [
    'https://api.sa-punta.test',
    `route = "www.sa-punta.test/*"\n${WITH_DOMAIN}`,
    () => {
      throw new Error('offline');
    },
    'nothing that is usable (offline)',
  ],
  [
    'https://feed.example.workers.dev',
    CONFIG,
    () => new Response('\n<title>Just a moment...</title>\n<script>', { status: 403 }),
    'something else (HTTP 403: <title>Just a moment...</title>)',
  ],
  [
    'https://feed.example.workers.dev',
    CONFIG,
    () => Response.json({ status: 'ok', deployment: { id: 'another' }, dependencies: {} }),
    'another',
  ],
])('requests the health at %s', async (origin, config, respond, responder) => {
  vi.stubEnv('SERVICE_ORIGIN', '');
  cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: STAGING });
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) =>
    url.startsWith(cloudflare.origin) ? fetch(url, init) : respond(),
  );
  configure(config);
  const { code, stderr } = await deploy(...STAGED);
  vi.unstubAllGlobals();
  expect(code).toBe(1);
  expect(stderr).toContain(
    `is deployed, and ${origin}/api/health/detailed gets its responses from ${responder}.\n`,
  );
});

it('says what is known when a signal ends it', async () => {
  const ended = vi.spyOn(process, 'kill').mockReturnValue(true);
  cloudflare.fault = (request) => {
    if (request.startsWith('PUT ')) process.emit('SIGINT', 'SIGINT');
    return undefined;
  };
  const { stderr } = await deploy();
  expect(ended).toHaveBeenCalledWith(process.pid, 'SIGINT');
  expect(stderr).toBe(
    `The deployment to production failed at the migrations: it was interrupted.
${MIGRATED} You can repeat \`npm run deploy\`.
`,
  );
  ended.mockRestore();
});

describe('in a copy of the project', () => {
  let project: ProjectCopy;
  beforeAll(() => {
    project = new ProjectCopy();
    project.write('wrangler.toml', CONFIG);
  });
  afterAll(() => project.remove());

  it('the real wrangler brings the service up from nothing', async () => {
    // Its build, which takes as long, is that of `getBundle`.
    const wrangler: typeof runWrangler = async (args, isShown) =>
      args.includes('--dry-run') ? { isDone: true, output: '' } : runWrangler(args, isShown);
    const { directory } = project;
    // Wrangler's settings are the user's.
    vi.stubEnv('XDG_CONFIG_HOME', directory);
    const run: typeof command.run = (request) => command.run(request, { directory, wrangler });
    const first = await runHere({ ...command, run }, '--location', 'weur');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const database = cloudflare.database(NAME);
    const served = cloudflare.served(NAME);
    for (const line of [
      `\n- migrate: ${migrationNames().join(', ')}\n`,
      'Time Travel bookmark before this deployment: 00000000-',
      `\nServed now: version ${served.id} (no-commit) at ${cloudflare.origin}, all is up\n`,
    ]) {
      expect(first.stdout).toContain(line);
    }
    expect(database.rows('SELECT name FROM d1_migrations')).toHaveLength(migrationNames().length);
    expect(database.primary_location_hint).toBe('weur');
    expect(served.bound).toEqual([database.uuid, cloudflare.namespaces[0]?.id]);
    // The bundle that other tests serve, with its sources and the binding that names its version.
    const bundle = readFileSync(await getBundle('src/index.ts'), 'utf8').trimEnd();
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
        'The deployment to production failed at the checks: a migration does more than add: 9999_gone.sql has ALTER TABLE events DROP payload.\nNothing was changed. You can repeat `npm run deploy`.\n',
    });
    expect(cloudflare.requests).toEqual([]);
  });
});
