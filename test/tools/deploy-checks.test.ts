/** What `npm run deploy` finds before it changes anything, and `--dry-run`. */

import { expect, it } from 'vitest';
import { migrationNames } from '../../tools/database/migrations.ts';
import { Database } from '../support/cloudflare/database.ts';
import {
  CONFIG,
  cloudflare,
  configure,
  contents,
  deploy,
  expectDeployed,
  failAt,
  NAME,
  STAGING,
  set,
  useDeployer,
  WITH_DOMAIN,
} from '../support/cloudflare/deployer.ts';

useDeployer();

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
  '[env.staging] of wrangler.toml: API_KEYS has 5': () => configure(set(VARS, `${VARS}\n${KEYS}`)),
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
  'the domain api.sa-punta.test has a DNS record of something else (CNAME old.host.test): ': () => {
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
    failAt('build');
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

it.each(Object.entries(STOPS))('stops before it changes anything: %s', async (reason, arrange) => {
  await arrange();
  const before = contents();
  const { code, stderr } = await deploy('--env', 'staging');
  expect(code).toBe(1);
  expect(stderr).toContain(`The deployment to staging failed at the checks: ${reason}`);
  const again = 'npm run deploy -- --env staging';
  expect(stderr).toContain(`.\nNothing has changed. \`${again}\` may be repeated.\n`);
  expect(contents()).toEqual(before);
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
