/**
 * `npm run deploy [-- --env staging]`: deploys the service on the operator's account, for the first time or again. It
 * may be repeated after any failure. It checks everything before it touches data.
 *
 * Exits with 0 if the new version serves, 1 if the same version serves as before, 2 if a version was deployed and a
 * later step failed.
 */

import * as z from 'zod';
import { type Account, openAccount, requireRights } from './cloudflare/account.ts';
import { Rejected } from './cloudflare/api.ts';
import { AfterDeployment, EXIT, exitCodeOfSteps, release } from './cloudflare/release.ts';
import {
  checkDatabase,
  createDatabase,
  createNamespace,
  findDatabase,
  findNamespace,
} from './cloudflare/resources.ts';
import { restDatabase } from './cloudflare/rest-database.ts';
import { requireRoutes } from './cloudflare/routes.ts';
import { boundTo, findServed } from './cloudflare/versions.ts';
import { runForDeployment } from './cloudflare/wrangler.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { currentCommit } from './command-line/git.ts';
import { UserError } from './command-line/user-error.ts';
import {
  chosenEnvironment,
  commandFor,
  type Deployment,
  type Ids,
  soundDeploymentOf,
} from './command-line/wrangler-config.ts';
import { rejectOtherTables, rejectUnfinishedRestore } from './database/identity.ts';
import { faultsOfMigrations, migrate } from './database/migrations.ts';

const USAGE = `Usage: npm run deploy [-- [--env NAME] [--location HINT] [--create]]

  --env NAME        an environment of wrangler.toml, such as staging, instead of production
  --location HINT   where a new database is created: weur, eeur, wnam, enam, apac or oc
  --create          creates a database or namespace that a Worker which exists lacks`;

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

type Request = {
  environment: string | undefined;
  location: string | undefined;
  mayCreate: boolean;
};

/** How far a deployment has come, for the message when a step fails. */
type Progress = { isMigrationBegun: boolean };

export const command: Command<Request> = {
  usage: USAGE,
  invalidArguments: EXIT.notDeployed,
  parse: parseRequest,
  run,
};

if (import.meta.main) await runCommand(command);

function parseRequest(args: string[]): Request {
  const { values } = readArguments('deploy', args, {
    env: { type: 'string' },
    location: { type: 'string' },
    create: { type: 'boolean', default: false },
  });
  const { env, location, create: mayCreate } = values;
  if (location !== undefined && !LOCATIONS.includes(location)) {
    throw new UserError(`--location ${location}: must be one of ${LOCATIONS.join(', ')}`);
  }
  return { environment: chosenEnvironment(env), location, mayCreate };
}

function run(request: Request): Promise<number> {
  const { environment } = request;
  const title = environment ?? 'production';
  const progress: Progress = { isMigrationBegun: false };
  const again = `Run \`${commandFor(environment, 'deploy')}\` again when the cause is gone.`;
  const notDone = (reason: string) => {
    const state = progress.isMigrationBegun
      ? 'The version before it goes on serving. Migrations that were applied stay: it can live with them.'
      : 'No data was touched, and the version before it goes on serving.';
    return `Not deployed to ${title}: ${reason}.\n${state} ${again}`;
  };
  return exitCodeOfSteps(() => deploy(request, progress), `Deployed to ${title}`, notDone);
}

async function deploy(request: Request, progress: Progress): Promise<number> {
  const deployment = soundDeploymentOf(request.environment);
  const account = await openAccount(deployment);
  await requireRights(account, ['workers', 'd1', 'kv']);
  await requireSubdomain(account, deployment);
  const hasNewDomain = await requireRoutes(account, deployment);
  const faults = faultsOfMigrations();
  if (faults.length > 0) {
    throw new UserError(`a migration does more than add: ${faults.join('; ')}`);
  }
  const found = await findResources(account, deployment, request);
  if (found.database !== undefined) {
    const database = restDatabase(account, found.database);
    await rejectUnfinishedRestore(database);
    await rejectOtherTables(database, deployment.databaseName);
  }
  const build = await runForDeployment(deployment, ['deploy', '--dry-run']);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}\n`);

  const ids = await createMissing(account, deployment, found, request);
  console.log(
    `Time Travel bookmark before this deployment: ${await bookmarkOf(account, ids.databaseId)}`,
  );
  progress.isMigrationBegun = true;
  const migrated = await migrate(restDatabase(account, ids.databaseId));
  console.log(migrated.length > 0 ? `migrated: ${migrated.join(', ')}` : 'no migration is pending');
  const commit = currentCommit();
  const served = await release({ account, deployment, ids, commit, hasNewDomain });
  console.log(`\nServed now: ${served}`);
  await remindOfKey(account, deployment);
  return EXIT.served;
}

/** The ids that the account has. */
type Found = { database: string | undefined; namespace: string | undefined };

/** Throws a `UserError` if a Worker serves already, but its database or namespace is missing. */
async function findResources(
  account: Account,
  deployment: Deployment,
  { mayCreate }: Request,
): Promise<Found> {
  const { databaseName, namespaceTitle, worker, environment } = deployment;
  const found = {
    database: await findDatabase(account, deployment),
    namespace: await findNamespace(account, deployment),
  };
  const missing = [
    ...(found.database === undefined ? [`D1 database ${databaseName}`] : []),
    ...(found.namespace === undefined ? [`KV namespace ${namespaceTitle}`] : []),
  ];
  const served = missing.length > 0 ? await findServed(account, worker) : undefined;
  if (served !== undefined && !mayCreate) {
    const bound = await boundTo(account, worker, served);
    throw new UserError(
      `the account has no ${missing.join(' and no ')}, and the Worker ${worker} serves already, bound to ${bound.join(' and ')}. Is a name in wrangler.toml misspelt? To make a new and empty one: \`${commandFor(environment, 'deploy', '--create')}\``,
    );
  }
  return found;
}

async function createMissing(
  account: Account,
  deployment: Deployment,
  found: Found,
  { location }: Request,
): Promise<Ids> {
  const { databaseName, namespaceTitle } = deployment;
  const databaseId = found.database ?? (await createDatabase(account, deployment, location));
  const size = await checkDatabase(account, deployment, databaseId);
  console.log(`database ${databaseName}: ${found.database ? 'found' : 'created'}, ${size}`);
  const namespaceId = found.namespace ?? (await createNamespace(account, deployment));
  console.log(`KV namespace ${namespaceTitle}: ${found.namespace ? 'found' : 'created'}`);
  return { databaseId, namespaceId };
}

/** Without a workers.dev subdomain wrangler would register one of a random name. */
async function requireSubdomain(account: Account, { hasWorkersDev }: Deployment): Promise<void> {
  if (!hasWorkersDev) return;
  const known = z.looseObject({ subdomain: z.string().nullish() });
  let subdomain: string | null | undefined;
  try {
    const path = `${account.path}/workers/subdomain`;
    ({ subdomain } = await account.api.call(known, 'GET', path));
  } catch (error) {
    if (!(error instanceof Rejected) || error.isForbidden) throw error;
  }
  if (subdomain) return;
  throw new UserError(
    `the account has no workers.dev subdomain: choose one at https://dash.cloudflare.com/${account.id}/workers/onboarding, or set workers_dev = false and a custom domain in wrangler.toml`,
  );
}

async function bookmarkOf({ api, path }: Account, databaseId: string): Promise<string> {
  const known = z.looseObject({ bookmark: z.string() });
  const url = `${path}/d1/database/${databaseId}/time_travel/bookmark`;
  return (await api.call(known, 'GET', url)).bookmark;
}

/** Reminds the operator of `API_KEY`, a secret that is set by hand after the first deployment. */
async function remindOfKey({ api, path }: Account, deployment: Deployment): Promise<void> {
  const put = `\`npx wrangler secret put API_KEY --env=${deployment.environment ?? ''}\``;
  const names = z.array(z.looseObject({ name: z.string() }));
  try {
    const url = `${path}/workers/scripts/${deployment.worker}/secrets`;
    const secrets = await api.call(names, 'GET', url);
    if (!secrets.some(({ name }) => name === 'API_KEY')) {
      console.log(`No API key is set yet: ${put}`);
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new AfterDeployment(`whether an API key is set is not known (${error.message}): ${put}`);
  }
}
