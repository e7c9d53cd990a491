/** Tests of what `npm run deploy` changes and reports. deploy-checks.test.ts covers its checks. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runWrangler } from '../../../tools/cloudflare/wrangler.ts';
import { command } from '../../../tools/commands/deploy.ts';
import { listMigrations } from '../../../tools/database/migrations.ts';
import { Database } from '../../support/cloudflare/database.ts';
import {
  CONFIG,
  cloudflare,
  configure,
  copyAccount,
  DEPLOYED,
  deploy,
  deployLater,
  directory,
  expectDeployed,
  failAt,
  git,
  makeRepository,
  NAME,
  STAGING,
  STAGING_ARGS,
  set,
  useDeployer,
  WITH_DOMAIN,
} from '../../support/cloudflare/deployer.ts';
import type { Fault } from '../../support/cloudflare/fake-cloudflare.ts';
import { getBundle } from '../../support/node/bundles.ts';
import { runHere } from '../../support/node/in-process.ts';
import { ProjectCopy } from '../../support/node/project-copy.ts';

useDeployer();

const MISSPELT = set(`database_name = "${NAME}"`, `database_name = "${NAME}s"`);
/** Makes the first matching request fail. */
function failOnce(request: RegExp, fault: Fault): void {
  cloudflare.fault = (name, body) => {
    if (!request.test(`${name} ${body}`)) return undefined;
    cloudflare.fault = () => undefined;
    return fault;
  };
}

const CREATED = 'Created resources remain. The data and the active deployment were not changed.';
const MIGRATED = 'Applied migrations remain. The active deployment was not changed.';
const MIGRATION = /^POST .*\/query .*batch/;
const uploadOther = () =>
  cloudflare.upload(STAGING, { tag: 'other', message: '', bound: [], script: '' });

/**
 * Failures, by step and reason. Each has the state that must be reported, and a function that
 * causes the failure.
 */
const FAILURES: Record<string, [state: string, arrange: () => unknown]> = {
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
  "upload: see wrangler's output above": [
    'The database has the new schema. `npx wrangler deployments list --env=staging` lists the active deployment.',
    () => failAt('upload'),
  ],
  'upload: version ': [
    'The database has the new schema.',
    async () => {
      await expectDeployed(...STAGING_ARGS);
      cloudflare.fault = (request) => {
        if (request.includes('time_travel')) uploadOther();
        return undefined;
      };
    },
  ],
  'health check: version ': [
    'For the next step, see "When a deployment fails" in docs/operate/runbook.md.',
    () => {
      cloudflare.health.database = 'down';
    },
  ],
};

it.each(Object.entries(FAILURES))(
  'can be repeated after it failed at the %s',
  async (failure, [state, arrange]) => {
    await arrange();
    const { code, stderr } = await deploy(...STAGING_ARGS);
    expect(code).toBe(1);
    expect(stderr).toContain(`The deployment to staging failed at the ${failure}`);
    expect(stderr).toContain(`.\n${state}`);
    failAt(undefined);
    cloudflare.fault = () => undefined;
    cloudflare.health.database = 'ok';
    expect(await expectDeployed(...STAGING_ARGS)).toContain('. All dependencies are up.\n');
    expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([1, 1]);
  },
);

type Success = {
  arrange?: () => unknown;
  args?: string[];
  /** Strings that must appear in the output. */
  prints?: string[];
  /** Strings that must not appear in the output. */
  omits?: string[];
  expectState?: () => unknown;
};

const SWITCHES_REPLICAS = '- switch the read replicas of the database on\n';
const setKeySetUrl = (url: string) => set('JWT_JWKS_URL = ""', `JWT_JWKS_URL = "${url}"`);
const database = () => cloudflare.database(NAME);

const SUCCESSES: Record<string, Success> = {
  'finds its resources among others with similar names': {
    arrange: async () => {
      cloudflare.databases.push(new Database(`${NAME}-old`));
      for (let n = 0; n < 50; n += 1) {
        cloudflare.namespaces.push({ id: `${n}`, title: `other-${n}` });
      }
      await expectDeployed();
    },
    prints: ['\nThis deployment will:\n- upload the version no-commit (deployed without git)\n'],
    expectState: () => {
      expect([cloudflare.databases.length, cloudflare.namespaces.length]).toEqual([2, 51]);
      const ids = [database().uuid, cloudflare.namespaces[50]?.id];
      expect(cloudflare.activeVersion(NAME).bound).toEqual(ids);
    },
  },
  'prints how to set an API key after the first deployment': {
    args: STAGING_ARGS,
    prints: [
      '. All dependencies are up.\nNo API key is set yet. Set one: `npx wrangler secret put API_KEY --env=staging`\n',
    ],
  },
  'creates the missing resources of a Worker with --create': {
    arrange: async () => {
      await expectDeployed();
      configure(MISSPELT.replaceAll('JURISDICTION = ""', 'JURISDICTION = "eu"'));
      cloudflare.namespaces.length = 0;
    },
    args: ['--create'],
    expectState: () => {
      expect(cloudflare.database(`${NAME}s`).jurisdiction).toBe('eu');
      expect(cloudflare.namespaces).toMatchObject([{ jurisdiction: 'eu' }]);
    },
  },
  'prints no hints after a second deployment while the database is only 69 % full': {
    arrange: async () => {
      await expectDeployed();
      database().file_size = 6_900_000_000;
    },
    omits: ['API key', SWITCHES_REPLICAS, '%'],
  },
  'reports a database that is 70 % full': {
    arrange: async () => {
      await expectDeployed();
      database().file_size = 7_000_000_000;
    },
    prints: [
      `${NAME} uses 70 % of its 10 GB. See "When the database fills up" in docs/operate/runbook.md.\n`,
    ],
  },
  'uses the account in CLOUDFLARE_ACCOUNT_ID': {
    arrange: () => {
      vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', cloudflare.accounts[0]?.id);
      cloudflare.accounts.push({ id: 'b'.repeat(32) });
    },
  },
  'enables read replicas': {
    arrange: () => expectDeployed('--no-replicas'),
    prints: [SWITCHES_REPLICAS],
    expectState: () => expect(database().read_replication.mode).toBe('auto'),
  },
  'leaves read replicas unchanged with --no-replicas': {
    args: ['--no-replicas'],
    omits: [SWITCHES_REPLICAS],
    expectState: () => expect(database().read_replication.mode).toBe('disabled'),
  },
  'reports a degraded version as deployed': {
    arrange: () => {
      cloudflare.health.rate_limiter = 'down';
    },
    prints: ['. It is degraded by a failure of rate_limiter.\n'],
  },
  'deploys a Worker that has no address': {
    arrange: () => {
      vi.stubEnv('SERVICE_ORIGIN', '');
      configure(`workers_dev = false\n${CONFIG}`);
    },
    prints: ['. It has no address yet. Add a route, or set workers_dev = true.\n'],
  },
  'prints the version that it replaces with its commit': {
    arrange: async () => {
      makeRepository();
      await expectDeployed();
      writeFileSync(join(directory, 'new.ts'), '');
    },
    prints: ['Replaces version ', `), ${DEPLOYED}\n`, '-dirty) at '],
    expectState: () => {
      const { tag, message } = cloudflare.activeVersion(NAME);
      const [id = ''] = tag.split('-dirty');
      expect(git('rev-parse', id)).toBe(git('rev-parse', 'HEAD'));
      expect(message).toMatch(new RegExp(`^${id} a long subject, and more`));
      // The message has the maximum length that Cloudflare accepts.
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
    args: [...STAGING_ARGS, '--replace'],
    expectState: () => expect(cloudflare.activeVersion(STAGING).tag).not.toBe('other'),
  },
  'reports the usable keys of an identity provider': {
    arrange: () => configure(setKeySetUrl(`${cloudflare.origin}/api/keys`)),
    prints: [
      'Ignored in the key set: entry 3 (kid "no-type") has no valid kty\n',
      '/api/keys: 2\n',
    ],
  },
  'reports entries of JWT_JWKS that the service ignores': {
    arrange: () => configure(set('JWT_JWKS = ""', `JWT_JWKS = '{"keys":[{"kty":"EC"},null]}'`)),
    prints: ['Ignored in the key set: entry 1 is not a JSON object\n'],
  },
  'reports an identity provider without a usable key': {
    arrange: () => configure(setKeySetUrl(`${cloudflare.origin}/api/none`)),
    prints: [
      'The service will reject every bearer token, because of http://127.0.0.1:',
      '/api/none: JWT_JWKS_URL ',
    ],
  },
};

it.each(Object.entries(SUCCESSES))('%s', async (_title, success) => {
  const { arrange, args = [], prints = [], omits = [], expectState } = success;
  await arrange?.();
  const output = await expectDeployed(...args);
  for (const text of [...prints, '\nDeployed version ']) expect(output).toContain(text);
  for (const text of omits) expect(output).not.toContain(text);
  expectState?.();
});

it('prints what a deployment would change if --dry-run is given', async () => {
  const firstOutput = await expectDeployed('--dry-run');
  expect(firstOutput).toContain(
    `\nNothing was changed. A deployment would:
- create the database ${NAME}
- create the KV namespace ${NAME}-idempotency
- migrate: ${listMigrations().join(', ')}
- switch the read replicas of the database on
- upload the version no-commit (deployed without git)
- check its health\n`,
  );
  expect(cloudflare.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  expect([cloudflare.databases, cloudflare.namespaces]).toEqual([[], []]);
  await expectDeployed();
  const before = copyAccount();
  expect(await expectDeployed('--dry-run')).toMatch(
    /\nNothing was changed. A deployment would:\n- upload the version .*\n- check its health\n$/,
  );
  expect(copyAccount()).toEqual(before);
});

it('succeeds if Cloudflare returns 429 although it has applied the migration', async () => {
  failOnce(MIGRATION, { status: 429, isAfter: true, retryAfter: '1' });
  await expectDeployed();
});

it.each<[origin: string, config: string, respond: () => Response, outcome: string]>([
  [
    'https://api.sa-punta.test',
    `route = "www.sa-punta.test/*"\n${WITH_DOMAIN}`,
    () => {
      throw new Error('offline');
    },
    'the request failed (offline)',
  ],
  [
    'https://feed.example.workers.dev',
    CONFIG,
    () => new Response('\n<title>Just a moment...</title>\n<script>', { status: 403 }),
    'another program responded with HTTP 403 (<title>Just a moment...</title>)',
  ],
  [
    'https://feed.example.workers.dev',
    CONFIG,
    () => Response.json({ status: 'ok', deployment: { id: 'another' }, dependencies: {} }),
    'version another responded',
  ],
])('reports a failed health check at %s', async (origin, config, respond, outcome) => {
  vi.stubEnv('SERVICE_ORIGIN', '');
  cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: STAGING });
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) =>
    url.startsWith(cloudflare.origin) ? fetch(url, init) : respond(),
  );
  configure(config);
  const { code, stderr } = await deploy(...STAGING_ARGS);
  vi.unstubAllGlobals();
  expect(code).toBe(1);
  expect(stderr).toContain(
    `is deployed, but ${origin}/api/health/detailed does not reach it. At the last attempt, ${outcome}.\n`,
  );
});

it('reports what has changed when a signal interrupts it', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  cloudflare.fault = (request) => {
    if (request.startsWith('PUT ')) process.emit('SIGINT', 'SIGINT');
    return undefined;
  };
  const { stderr } = await deploy();
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT');
  expect(stderr).toBe(
    `The deployment to production failed at the migrations: it was interrupted.
${MIGRATED} You can repeat \`npm run deploy\`.
`,
  );
  kill.mockRestore();
});

describe('npm run deploy in a copy of the project', () => {
  let project: ProjectCopy;
  beforeAll(() => {
    project = new ProjectCopy();
    project.write('wrangler.toml', CONFIG);
  });
  afterAll(() => project.remove());

  it('deploys to an empty account with the real wrangler', async () => {
    // Skips the build of the checks, because it would take as long as `getBundle`.
    const wrangler: typeof runWrangler = async (args, isShown) =>
      args.includes('--dry-run') ? { isDone: true, output: '' } : runWrangler(args, isShown);
    const { directory } = project;
    // Otherwise wrangler would use the user's settings.
    vi.stubEnv('XDG_CONFIG_HOME', directory);
    const run: typeof command.run = (request) => command.run(request, { directory, wrangler });
    const result = await runHere({ ...command, run }, '--location', 'weur');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const database = cloudflare.database(NAME);
    const version = cloudflare.activeVersion(NAME);
    for (const line of [
      `\n- migrate: ${listMigrations().join(', ')}\n`,
      'Time Travel bookmark before this deployment: 00000000-',
      `\nDeployed version ${version.id} (no-commit) at ${cloudflare.origin}. All dependencies are up.\n`,
    ]) {
      expect(result.stdout).toContain(line);
    }
    expect(database.rows('SELECT name FROM d1_migrations')).toHaveLength(listMigrations().length);
    expect(database.primary_location_hint).toBe('weur');
    expect(version.bound).toEqual([database.uuid, cloudflare.namespaces[0]?.id]);
    // The upload is the bundle that other tests serve, plus its sources and the version binding.
    const bundle = readFileSync(await getBundle('src/index.ts'), 'utf8').trimEnd();
    expect(version.script.includes(bundle)).toBe(true);
    expect(version.script).toMatch(/"sources":\[[^\]]*src\/app\.ts/);
    expect(version.script).toContain('"CF_VERSION_METADATA","type":"version_metadata"');
    const files = readdirSync(directory);
    expect(files.filter((name) => name.startsWith('.scratch'))).toEqual([]);
  });

  it('sends no request if a migration does more than add to the schema', async () => {
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
