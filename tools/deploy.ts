/** `npm run deploy`: deploys the service. It checks everything before it touches data. */

import { type Account, openAccount } from './cloudflare/account.ts';
import {
  createMissing,
  findResources,
  getBookmark,
  requireOwnDomains,
  switchReplicasOn,
} from './cloudflare/resources.ts';
import { awaitHealth, describeCommit, findServed } from './cloudflare/version.ts';
import { runForDeployment, runWrangler } from './cloudflare/wrangler.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { formatCommand, resolveEnvironment } from './command-line/environment.ts';
import { PROJECT_DIRECTORY } from './command-line/project.ts';
import { SIGNALS } from './command-line/scratch.ts';
import { messageOf, needsNoStack, UserError } from './command-line/user-error.ts';
import { type Deployment, loadValidDeployment } from './configuration/wrangler-config.ts';
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
    const failed = `The deployment to ${environment ?? 'production'} failed at the ${progress.step}`;
    const known = KNOWN[progress.step].replace('--env=', `--env=${environment ?? ''}`);
    const again = `\`${formatCommand(environment, 'deploy')}\` may be repeated.`;
    console.error(`${failed}: ${reason}${reason.endsWith('\n') ? '' : '.\n'}${known} ${again}`);
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
  const { deployment, account, found, before } = await check(request, surroundings);

  progress.step = 'resources';
  const resources = await createMissing(account, deployment, found, request.location);
  const bookmark = await getBookmark(account, resources);
  console.log(`Time Travel bookmark before this deployment: ${bookmark}`);

  progress.step = 'migrations';
  const migrated = await migrate(restDatabase(account, resources.database.id));
  console.log(migrated.length > 0 ? `migrated: ${migrated.join(', ')}` : 'no migration is pending');
  if (request.wantsReplicas) await switchReplicasOn(account, resources);

  progress.step = 'upload';
  const { tag, message } = describeCommit(directory);
  const args = ['deploy', '--tag', tag, '--message', message];
  const upload = await runForDeployment(wrangler, deployment, args, {
    ids: resources,
    environment: account.environment,
  });
  const version = await getUploaded(account, deployment, before, upload);

  progress.step = 'health check';
  const origin = findOrigin(deployment, upload.output);
  const address =
    origin === undefined
      ? 'without an address yet: add a route, or set workers_dev = true'
      : `at ${origin}, ${await awaitHealth(origin, version, deployment, patienceMs)}`;
  console.log(`\nServed now: version ${version} (${tag}) ${address}`);
  const put = `npx wrangler secret put API_KEY --env=${request.environment ?? ''}`;
  if (before === undefined) console.log(`No API key is set yet: \`${put}\``);
}

/** Everything that can be known before something changes. `before` is the version that serves. */
async function check({ environment, mayCreate }: Request, { directory, wrangler }: Surroundings) {
  const deployment = loadValidDeployment(environment, directory);
  const faults = findMigrationFaults();
  if (faults.length > 0) {
    throw new UserError(`a migration does more than add: ${faults.join('; ')}`);
  }
  const build = await runForDeployment(wrangler, deployment, ['deploy', '--dry-run']);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}\n`);
  const account = await openAccount(deployment);
  await requireOwnDomains(account, deployment);
  const found = await findResources(account, deployment);
  const before = await findServed(account, deployment);
  if (found.missing.length > 0 && before !== undefined && !mayCreate) {
    throw new UserError(
      `the account has no ${found.missing.join(' and no ')}, and the Worker ${deployment.worker} serves already. Is a name in wrangler.toml misspelt? To make a new and empty one: \`${formatCommand(environment, 'deploy', '--create')}\``,
    );
  }
  if (found.database !== undefined) {
    const database = restDatabase(account, found.database.id);
    await rejectUnfinishedRestore(database);
    await rejectOtherTables(database, deployment.databaseName);
  }
  return { deployment, account, found, before };
}

/** Returns the id of the uploaded version. Throws a `UserError` that says what serves instead. */
async function getUploaded(
  account: Account,
  deployment: Deployment,
  before: string | undefined,
  { isDone, output }: { isDone: boolean; output: string },
): Promise<string> {
  const [, version] = /^Current Version ID: (\S+)$/m.exec(output) ?? [];
  if (isDone && version !== undefined) return version;
  const now = await findServed(account, deployment);
  const earlier = before === undefined ? '' : `, and version ${before} still serves`;
  throw new UserError(
    now === before
      ? `wrangler has deployed no version${earlier}`
      : `version ${now} is deployed, and a later step of wrangler failed: its domains may not lead to it`,
  );
}

/** Returns the address of a custom domain, or of workers.dev. A route has no address. */
function findOrigin({ routes }: Deployment, output: string): string | undefined {
  const domain = routes.find(({ custom_domain }) => custom_domain);
  const [workersDev] = /https:\/\/[\w.-]+\.workers\.dev/.exec(output) ?? [];
  return process.env.SERVICE_ORIGIN || (domain && `https://${domain.pattern}`) || workersDev;
}
