/**
 * `npm run deploy [-- --env staging]`: brings the service up on the operator's account, or a new version
 * of it. It may be run again after any failure: each step finds what an earlier run has done.
 *
 * What can be known before data is touched is checked first: credentials and rights, the bundle, the
 * migrations. Exits with 0 when the new version serves, 1 when it does not, 2 when the command was not
 * understood.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Account, openAccount, requireRights } from './cloudflare/account.ts';
import { Refused } from './cloudflare/api.ts';
import { type DeployedVersion, untilItServes } from './cloudflare/deployed-health.ts';
import { ensureDatabase, ensureNamespace } from './cloudflare/resources.ts';
import { type Wrangler, wranglerFor } from './cloudflare/wrangler.ts';
import { readArguments, runCommand } from './command-line/command.ts';
import { currentCommit } from './command-line/git.ts';
import { MIGRATIONS_DIRECTORY, UserError } from './command-line/project.ts';
import {
  chosenEnvironment,
  type Deployment,
  deploymentOf,
  readWranglerConfig,
} from './command-line/wrangler-config.ts';
import { faultsOfMigration } from './database/migration-rules.ts';

const USAGE = `Usage: npm run deploy [-- [--env NAME] [--location HINT]]

  --env NAME        an environment of wrangler.toml, such as staging, instead of production
  --location HINT   where a new database is created: weur, eeur, wnam, enam, apac or oc`;

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

/** The line of wrangler's report that tells of an upload. */
const uploaded = z.looseObject({
  type: z.literal('deploy'),
  version_id: z.string(),
  targets: z.array(z.string()).nullish(),
});

/** The facts that an operator needs when a step fails. */
type Progress = { isMigrationBegun: boolean; isUploadBegun: boolean };

await runCommand({ usage: USAGE, parse: parseCommand, run });

async function run(command: Command): Promise<number> {
  const progress: Progress = { isMigrationBegun: false, isUploadBegun: false };
  try {
    const deployment = deploymentOf(readWranglerConfig(), command.environment);
    await deploy(deployment, command.location, progress);
    return 0;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`Not deployed: ${error.message}.`);
    console.error(consequence(progress));
    return 1;
  }
}

type Command = { environment: string | undefined; location: string | undefined };

function parseCommand(args: string[]): Command {
  const { values } = readArguments('deploy', args, {
    env: { type: 'string' },
    location: { type: 'string' },
  });
  const { env, location } = values;
  if (location !== undefined && !LOCATIONS.includes(location)) {
    throw new UserError(`--location ${location}: must be one of ${LOCATIONS.join(', ')}`);
  }
  return { environment: chosenEnvironment(env), location };
}

async function deploy(
  deployment: Deployment,
  location: string | undefined,
  progress: Progress,
): Promise<void> {
  const account = await openAccount(deployment);
  await requireRights(account, ['workers', 'd1', 'kv']);
  await requireSubdomain(account, deployment);
  await requireBundle(deployment);
  requireAdditiveMigrations();

  const database = await ensureDatabase(account, deployment, location);
  tell('database', deployment.databaseName, database.isNew);
  const namespace = await ensureNamespace(account, deployment);
  tell('KV namespace', deployment.namespaceTitle, namespace.isNew);
  console.log(
    `Time Travel bookmark before this deployment: ${await bookmarkOf(account, database.id)}`,
  );

  const wrangler = wranglerFor(deployment, {
    ids: { databaseId: database.id, namespaceId: namespace.id },
    environment: account.environment,
  });
  try {
    progress.isMigrationBegun = true;
    await migrate(wrangler);
    progress.isUploadBegun = true;
    const version = await upload(wrangler);
    const served = await untilItServes(version, deployment);
    console.log(`\nServed now: ${served}`);
    await remindOfKey(account, deployment);
  } finally {
    wrangler.remove();
  }
}

function tell(what: string, name: string, isNew: boolean): void {
  console.log(`${what} ${name}: ${isNew ? 'created' : 'found'}`);
}

/** An account that has none would have one registered in passing, under a name that nobody chose. */
async function requireSubdomain(account: Account, { hasWorkersDev }: Deployment): Promise<void> {
  if (!hasWorkersDev) return;
  const known = z.looseObject({ subdomain: z.string().nullish() });
  let subdomain: string | null | undefined;
  try {
    const path = `${account.path}/workers/subdomain`;
    ({ subdomain } = await account.api.call(known, 'GET', path));
  } catch (error) {
    if (!(error instanceof Refused) || error.isForbidden) throw error;
  }
  if (subdomain) return;
  throw new UserError(
    `the account has no workers.dev subdomain: choose one at https://dash.cloudflare.com/${account.id}/workers/onboarding, or set workers_dev = false and a custom domain in wrangler.toml`,
  );
}

async function requireBundle(deployment: Deployment): Promise<void> {
  const wrangler = wranglerFor(deployment);
  try {
    const { isDone, output } = await wrangler.run(['deploy', '--dry-run']);
    if (!isDone) throw new UserError(`the bundle cannot be built\n${output}\n`);
  } finally {
    wrangler.remove();
  }
}

function requireAdditiveMigrations(): void {
  const faults = readdirSync(MIGRATIONS_DIRECTORY)
    .filter((name) => name.endsWith('.sql'))
    .flatMap((name) => {
      const text = readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8');
      return faultsOfMigration(text).map((what) => `${name} ${what}`);
    });
  if (faults.length > 0)
    throw new UserError(`a migration does more than add: ${faults.join('; ')}`);
}

async function bookmarkOf({ api, path }: Account, databaseId: string): Promise<string> {
  const known = z.looseObject({ bookmark: z.string() });
  const url = `${path}/d1/database/${databaseId}/time_travel/bookmark`;
  return (await api.call(known, 'GET', url)).bookmark;
}

async function migrate(wrangler: Wrangler): Promise<void> {
  const { isDone, output } = await wrangler.run(['d1', 'migrations', 'apply', 'DB', '--remote']);
  if (!isDone) throw new UserError(`a migration failed\n${output}\n`);
  const names = [...new Set(output.match(/\b\d{4}_\w+\.sql\b/g))];
  console.log(names.length > 0 ? `migrated: ${names.join(', ')}` : 'no migration is pending');
}

async function upload(wrangler: Wrangler): Promise<DeployedVersion> {
  const { id, subject } = currentCommit();
  const { isDone } = await wrangler.run(['deploy', '--tag', id, '--message', subject], {
    isShown: true,
  });
  if (!isDone) throw new UserError('wrangler could not upload the new version');
  const entry = uploadIn(wrangler);
  if (entry === undefined) throw new UserError('wrangler does not say which version it uploaded');
  return { id: entry.version_id, tag: id, targets: entry.targets ?? [] };
}

/** Finds the last upload in wrangler's report, which may be missing or no JSON. */
function uploadIn(wrangler: Wrangler): z.infer<typeof uploaded> | undefined {
  try {
    for (const line of wrangler.report().trim().split('\n').reverse()) {
      const entry = uploaded.safeParse(JSON.parse(line));
      if (entry.success) return entry.data;
    }
  } catch {
    // There is no report, or no whole one.
  }
  return undefined;
}

/** Secrets are put by hand, after the first deployment: nobody can use the service before. */
async function remindOfKey({ api, path }: Account, deployment: Deployment): Promise<void> {
  const names = z.array(z.looseObject({ name: z.string() }));
  const secrets = await api.call(
    names,
    'GET',
    `${path}/workers/scripts/${deployment.worker}/secrets`,
  );
  if (secrets.some(({ name }) => name === 'API_KEY')) return;
  const target = `--env=${deployment.environment ?? ''}`;
  console.log(`No API key is set yet: \`npx wrangler secret put API_KEY ${target}\``);
}

function consequence({ isMigrationBegun, isUploadBegun }: Progress): string {
  const again = 'Run the same command again when the cause is gone.';
  if (isUploadBegun) {
    return `The database is migrated. Whether the new version serves is not known: \`npx wrangler deployments list\` tells. ${again}`;
  }
  if (isMigrationBegun) {
    return `The version before it goes on serving. Migrations before the one that failed are applied, which it can live with. ${again}`;
  }
  return `No data was touched, and the version before it goes on serving. ${again}`;
}
