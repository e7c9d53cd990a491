/** Tests of the checks that `npm run deploy` makes before it changes anything. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Database } from '../../support/cloudflare/database.ts';
import {
  CONFIG,
  cloudflare,
  commit,
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
import { letGitRefuse, skipWithoutGit } from '../../support/node/git.ts';

useDeployer();

const setJurisdiction = (name: string) => set('JURISDICTION = ""', `JURISDICTION = "${name}"`);

const addDatabase = (tables: string, name = STAGING) => {
  const database = new Database(name);
  database.sqlite.exec(tables);
  cloudflare.databases.push(database);
};

const LATER = `${DEPLOYED}, is active, and its commit is not in the history of your working copy`;

/**
 * Error messages, each with a function that causes the error. A word in brackets distinguishes
 * causes of the same message.
 */
const STOPS: Record<string, () => unknown> = {
  'staging would share the route api.sa-punta.test/* with production. Give each': () =>
    configure(`route = "api.sa-punta.test/*"\n${CONFIG}`),
  [`staging would share the database ${NAME} with production. `]: () =>
    configure(set(`database_name = "${STAGING}"`, `database_name = "${NAME}"`)),
  [`staging would share the Worker ${NAME} with production. `]: () =>
    configure(set(`name = "${STAGING}"`, `name = "${NAME}"`)),
  'staging would share the namespace f00d with production. ': () =>
    configure(set('preview_id', 'id = "f00d"\npreview_id')),
  '[env.staging] of wrangler.toml: JURISDICTION must be eu, us, fedramp or empty': () =>
    configure(setJurisdiction('europe')),
  '[env.staging] of wrangler.toml must have a name, a D1 database DB with a database_name': () =>
    configure(set('binding = "DB"', 'binding = "D"')),
  '[env.staging] of wrangler.toml: ENVIRONMENT must not be development': () =>
    configure(set('ENVIRONMENT = "production"', 'ENVIRONMENT = "development"')),
  '[env.staging] of wrangler.toml: PUBLIC_SITE_URL must be your site, not the example https://staging.example.com':
    () => configure(set('www.sa-punta.test', 'staging.example.com')),
  'the bundle cannot be built\nCould not resolve "./missing.ts"': () => failAt('build'),
  'your credentials have access to 2 accounts. Choose one with CLOUDFLARE_ACCOUNT_ID': () =>
    cloudflare.accounts.push({ id: 'b'.repeat(32) }),
  'Authentication error [code: 10000] (GET /d1/database)': () => {
    cloudflare.denied = /d1/;
  },
  'the custom domain api.sa-punta.test belongs to the Worker shop': () => {
    configure(WITH_DOMAIN);
    cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: 'shop' });
  },
  [`the Worker ${STAGING} exists, but the account does not have its D1 database feed or its`]:
    async () => {
      await expectDeployed(...STAGING_ARGS);
      configure(set(`database_name = "${STAGING}"`, 'database_name = "feed"'));
    },
  'this database is newer than your working copy (9999_later.sql). Run `git pull && npm ci`.': () =>
    addDatabase(
      `CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
         INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')`,
    ),
  'a restore of this database is not finished': () =>
    addDatabase('CREATE TABLE restoring_5f0c31d2a4b97e60_events (seq integer)'),
  'the database has the tables of another application (orders): is database_name in': () =>
    addDatabase('CREATE TABLE orders (id text)'),
  [`the database ${STAGING} is in no jurisdiction, but JURISDICTION in wrangler.toml is eu.`]:
    () => {
      addDatabase('');
      configure(setJurisdiction('eu'));
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
  // A checkout that another user owns, as in a container.
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

it.each(Object.entries(STOPS))('changes nothing if it fails with "%s"', async (reason, arrange) => {
  await arrange();
  const before = copyAccount();
  const { code, stderr } = await deploy(...STAGING_ARGS);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^The deployment to staging failed at the checks: /);
  expect(stderr).toContain(reason.replace(/ \(\w+\)$/, ''));
  const line = 'npm run deploy -- --env staging';
  expect(stderr).toMatch(
    new RegExp(`\\.\nNothing was changed\\. You can repeat \`${line}\`\\.\n$`),
  );
  expect(copyAccount()).toEqual(before);
});
