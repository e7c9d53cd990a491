/** `npm run deploy`: deploys the service. It checks everything before it touches data. */

import * as z from 'zod';
import { type Account, openAccount } from './cloudflare/account.ts';
import { EXIT, exitCodeOfSteps, release } from './cloudflare/release.ts';
import { createMissing, findResources } from './cloudflare/resources.ts';
import { restDatabase } from './cloudflare/rest-database.ts';
import { requireRoutes } from './cloudflare/routes.ts';
import { findServed } from './cloudflare/versions.ts';
import { runForDeployment } from './cloudflare/wrangler.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { currentCommit } from './command-line/git.ts';
import { UserError } from './command-line/user-error.ts';
import {
  chosenEnvironment,
  commandFor,
  type Deployment,
  soundDeploymentOf,
} from './command-line/wrangler-config.ts';
import { rejectOtherTables, rejectUnfinishedRestore } from './database/identity.ts';
import { faultsOfMigrations, migrate } from './database/migrations.ts';

const USAGE = `Usage: npm run deploy [-- [--env NAME] [--location HINT] [--create]]

Deploys this working copy to production, or to the environment of --env. May be repeated after any failure.

  --env NAME        an environment of wrangler.toml, such as staging, instead of production
  --location HINT   where a new database is created: weur, eeur, wnam, enam, apac or oc
  --create          creates a database or namespace that a Worker which exists lacks

Changes: creates a missing database and KV namespace, migrates the database, and replaces the version that serves.
It checks credentials, wrangler.toml, migrations and the bundle before.
Exit codes: 0 the new version serves, 1 nothing that serves has changed, 2 deployed, but a later step failed.
Example: npm run deploy -- --env staging --location weur`;

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

type Request = ReturnType<typeof parseRequest>;

export const command: Command<Request> = {
  usage: USAGE,
  invalidArguments: EXIT.notDeployed,
  parse: parseRequest,
  run,
};

if (import.meta.main) await runCommand(command);

function parseRequest(args: string[]) {
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
  const progress = { isMigrationBegun: false };
  const notDone = (reason: string) => {
    const data = progress.isMigrationBegun
      ? 'Migrations that were applied stay'
      : 'No data was touched';
    const again = `Run \`${commandFor(environment, 'deploy')}\` again when the cause is gone.`;
    return `Not deployed to ${title}: ${reason}.\n${data}, and nothing that serves has changed. ${again}`;
  };
  return exitCodeOfSteps(() => deploy(request, progress), `Deployed to ${title}`, notDone);
}

async function deploy(request: Request, progress: { isMigrationBegun: boolean }): Promise<number> {
  const deployment = soundDeploymentOf(request.environment);
  const { environment, worker, databaseName } = deployment;
  const account = await openAccount(deployment, ['workers', 'd1', 'kv']);
  await requireSubdomain(account, deployment);
  await requireRoutes(account, deployment);
  const faults = faultsOfMigrations();
  if (faults.length > 0) {
    throw new UserError(`a migration does more than add: ${faults.join('; ')}`);
  }
  const found = await findResources(account, deployment);
  const isFirst = (await findServed(account, worker)) === undefined;
  if (found.missing.length > 0 && !isFirst && !request.mayCreate) {
    throw new UserError(
      `the account has no ${found.missing.join(' and no ')}, and the Worker ${worker} serves already. Is a name in wrangler.toml misspelt? To make a new and empty one: \`${commandFor(environment, 'deploy', '--create')}\``,
    );
  }
  if (found.databaseId !== undefined) {
    const database = restDatabase(account, found.databaseId);
    await rejectUnfinishedRestore(database);
    await rejectOtherTables(database, databaseName);
  }
  const build = await runForDeployment(deployment, ['deploy', '--dry-run']);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}\n`);

  const ids = await createMissing(account, deployment, found, request.location);
  const bookmark = await bookmarkOf(account, ids.databaseId);
  console.log(`Time Travel bookmark before this deployment: ${bookmark}`);
  progress.isMigrationBegun = true;
  const migrated = await migrate(restDatabase(account, ids.databaseId));
  console.log(migrated.length > 0 ? `migrated: ${migrated.join(', ')}` : 'no migration is pending');
  const code = await release({ account, deployment, ids, commit: currentCommit() });
  const put = `npx wrangler secret put API_KEY --env=${environment ?? ''}`;
  if (isFirst) console.log(`No API key is set yet: \`${put}\``);
  return code;
}

/** Without a workers.dev subdomain wrangler would register one of a random name. */
async function requireSubdomain(account: Account, { hasWorkersDev }: Deployment): Promise<void> {
  if (!hasWorkersDev) return;
  const known = z.looseObject({ subdomain: z.string().nullish() });
  const found = await account.api.find(known, `${account.path}/workers/subdomain`);
  if (found?.subdomain) return;
  throw new UserError(
    `the account has no workers.dev subdomain: choose one at https://dash.cloudflare.com/${account.id}/workers/onboarding, or set workers_dev = false and a custom domain in wrangler.toml`,
  );
}

async function bookmarkOf({ api, path }: Account, databaseId: string): Promise<string> {
  const known = z.looseObject({ bookmark: z.string() });
  const url = `${path}/d1/database/${databaseId}/time_travel/bookmark`;
  return (await api.call(known, 'GET', url)).bookmark;
}
