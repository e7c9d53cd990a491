/** `npm run deploy`: deploys the service. It checks everything before it touches data. */

import { openAccount } from './cloudflare/account.ts';
import {
  createMissing,
  findResources,
  getBookmark,
  hasWorker,
  requireOwnDomains,
  switchReplicasOn,
} from './cloudflare/resources.ts';
import { awaitHealth, describeCommit } from './cloudflare/version.ts';
import { runDeploy, runWrangler } from './cloudflare/wrangler.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { formatCommand, resolveEnvironment } from './command-line/environment.ts';
import { PROJECT_DIRECTORY } from './command-line/project.ts';
import { SIGNALS } from './command-line/scratch.ts';
import { messageOf, needsNoStack, UserError } from './command-line/user-error.ts';
import {
  type Deployment,
  loadDeployment,
  requireDeployable,
} from './configuration/wrangler-config.ts';
import { rejectOtherTables, rejectUnfinishedRestore } from './database/identity.ts';
import { findMigrationFaults, migrate } from './database/migrations.ts';
import { restDatabase } from './database/rest-database.ts';

const USAGE = `Usage: npm run deploy [-- [--env NAME] [--location HINT] [--create] [--no-replicas]]

Deploys this working copy to production, or to the environment of --env. May be repeated after any failure.

  --env NAME        an environment of wrangler.toml, such as staging, instead of production
  --location HINT   where a new database is created: weur, eeur, wnam, enam, apac or oc
  --create          creates a database or namespace that a Worker which exists lacks
  --no-replicas     leaves the read replicas of the database as they are, instead of switching them on

Changes: creates a missing database and KV namespace, migrates the database, and replaces the version that serves.
It checks wrangler.toml, the migrations and the bundle before.
Exit codes: 0 the new version serves, 1 a step failed: the message says which one, and what is known of what serves.
Example: npm run deploy -- --env staging --location weur`;

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

/** The steps, and what is known if one of them fails. */
const KNOWN = {
  checks: 'Nothing has changed.',
  resources: 'A created resource stays. No data was touched, and nothing that serves has changed.',
  migrations: 'Migrations that were applied stay. Nothing that serves has changed.',
  'read replicas': 'Nothing that serves has changed. `--no-replicas` leaves out this step.',
  upload:
    'The database has the new schema. `npx wrangler deployments list --env=` lists what serves.',
  'health check': '"When a deployment fails" in docs/operate/runbook.md has the next step.',
};

type Progress = { step: keyof typeof KNOWN };
type Request = ReturnType<typeof parseRequest>;

/** Tests replace them. */
type Surroundings = { directory: string; wrangler: typeof runWrangler; patienceMs?: number };

export const command: Command<Request> & {
  run: (request: Request, surroundings?: Surroundings) => Promise<number>;
} = { usage: USAGE, invalidArguments: 1, parse: parseRequest, run };

if (import.meta.main) await runCommand(command);

function parseRequest(args: string[]) {
  const { values } = readArguments('deploy', args, {
    env: { type: 'string' },
    location: { type: 'string' },
    create: { type: 'boolean', default: false },
    'no-replicas': { type: 'boolean', default: false },
  });
  const { env, location, create: mayCreate } = values;
  if (location !== undefined && !LOCATIONS.includes(location)) {
    throw new UserError(`--location ${location}: must be one of ${LOCATIONS.join(', ')}`);
  }
  const wantsReplicas = !values['no-replicas'];
  return { environment: resolveEnvironment(env), location, mayCreate, wantsReplicas };
}

async function run(
  request: Request,
  surroundings: Surroundings = { directory: PROJECT_DIRECTORY, wrangler: runWrangler },
): Promise<number> {
  const { environment } = request;
  const progress: Progress = { step: 'checks' };
  const report = (reason: string) => {
    const known = KNOWN[progress.step].replace('--env=', `--env=${environment ?? ''}`);
    console.error(
      `The deployment to ${environment ?? 'production'} failed at the ${progress.step}: ${reason}.\n${known} \`${formatCommand(environment, 'deploy')}\` may be repeated.`,
    );
  };
  const reportAndEnd = (signal: NodeJS.Signals) => {
    report('it was interrupted');
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, reportAndEnd);
  try {
    await deploy(request, surroundings, progress);
    return 0;
  } catch (error) {
    if (!needsNoStack(error)) throw error;
    report(messageOf(error));
    return 1;
  } finally {
    for (const signal of SIGNALS) process.off(signal, reportAndEnd);
  }
}

async function deploy(
  request: Request,
  surroundings: Surroundings,
  progress: Progress,
): Promise<void> {
  const { directory, wrangler, patienceMs } = surroundings;
  const { deployment, account, found, isFirst } = await check(request, surroundings);

  progress.step = 'resources';
  const { database, namespaceId } = await createMissing(
    account,
    deployment,
    found,
    request.location,
  );
  const bookmark = await getBookmark(account, database);
  console.log(`Time Travel bookmark before this deployment: ${bookmark}`);

  progress.step = 'migrations';
  const migrated = await migrate(restDatabase(account, database.uuid));
  console.log(migrated.length > 0 ? `migrated: ${migrated.join(', ')}` : 'no migration is pending');

  progress.step = 'read replicas';
  if (request.wantsReplicas) await switchReplicasOn(account, database);

  progress.step = 'upload';
  const { tag, message } = describeCommit(directory);
  const args = ['--tag', tag, '--message', message];
  const ids = { databaseId: database.uuid, namespaceId };
  const { environment } = account;
  const options = { environment, isShown: true };
  const { isDone, output } = await runDeploy(wrangler, deployment, args, ids, options);
  const [, version] = /^Current Version ID: (\S+)$/m.exec(output) ?? [];
  if (!isDone || version === undefined) throw new UserError('wrangler says above what has failed');

  progress.step = 'health check';
  const origin = findOrigin(deployment, output);
  const address =
    origin === undefined
      ? 'without an address yet: add a route, or set workers_dev = true'
      : `at ${origin}, ${await awaitHealth(origin, version, deployment.worker, patienceMs)}`;
  console.log(`\nServed now: version ${version} (${tag}) ${address}`);
  const put = `npx wrangler secret put API_KEY --env=${request.environment ?? ''}`;
  if (isFirst) console.log(`No API key is set yet: \`${put}\``);
}

/** Everything that can be known before something changes. */
async function check({ environment, mayCreate }: Request, { directory, wrangler }: Surroundings) {
  const deployment = loadDeployment(environment, directory);
  requireDeployable(deployment);
  const faults = findMigrationFaults();
  if (faults.length > 0) {
    throw new UserError(`a migration does more than add: ${faults.join('; ')}`);
  }
  const build = await runDeploy(wrangler, deployment, ['--dry-run']);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}`);
  const account = await openAccount(deployment);
  await requireOwnDomains(account, deployment);
  const found = await findResources(account, deployment);
  const isFirst = !(await hasWorker(account, deployment));
  const { worker, databaseName, namespaceTitle } = deployment;
  const isComplete = found.database !== undefined && found.namespaceId !== undefined;
  if (!isComplete && !isFirst && !mayCreate) {
    throw new UserError(
      `the Worker ${worker} serves already, and the account lacks its D1 database ${databaseName} or its KV namespace ${namespaceTitle}. Is a name in wrangler.toml misspelt? To make a new and empty one: \`${formatCommand(environment, 'deploy', '--create')}\``,
    );
  }
  if (found.database !== undefined) {
    const database = restDatabase(account, found.database.uuid);
    await rejectUnfinishedRestore(database);
    await rejectOtherTables(database, databaseName);
  }
  return { deployment, account, found, isFirst };
}

/** Returns the address of a custom domain, or of workers.dev. A route has no address. */
function findOrigin({ routes }: Deployment, output: string): string | undefined {
  const domain = routes.find(({ custom_domain }) => custom_domain);
  const [workersDev] = /https:\/\/[\w.-]+\.workers\.dev/.exec(output) ?? [];
  return process.env.SERVICE_ORIGIN || (domain && `https://${domain.pattern}`) || workersDev;
}
