/** `npm run deploy`: deploys the service. It checks everything before it touches data. */

import { Option } from '@commander-js/extra-typings';
import { fetchUsableKeys } from '../../src/auth/key-set.ts';
import { type Account, describeCause, openAccount } from '../cloudflare/account.ts';
import {
  describeActiveDeployment,
  findActiveDeployment,
  requireFastForward,
} from '../cloudflare/active-deployment.ts';
import {
  createMissing,
  findResources,
  getCurrentBookmark,
  reportFullness,
  switchReplicasOn,
} from '../cloudflare/resources.ts';
import { awaitHealth, describeCommit } from '../cloudflare/version.ts';
import { runWrangler } from '../cloudflare/wrangler.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';
import { formatCommand, resolveEnvironment } from '../command-line/environment.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { beforeSignals, withScratchFile } from '../command-line/scratch.ts';
import { describeError, needsNoStack, UserError } from '../command-line/user-error.ts';
import { requireDeployable } from '../configuration/deployable.ts';
import { type Deployment, formatConfig, loadDeployment } from '../configuration/deployment.ts';
import { rejectUnfinished } from '../database/identity.ts';
import {
  findPendingMigrations,
  migrate,
  migrationNames,
  rejectNewer,
  requireAdditions,
} from '../database/migrations.ts';
import { restDatabase } from '../database/open.ts';

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

const program = declare('deploy')
  .description(`Deploy this working copy to production, or to the environment of --env. You can repeat it after any failure.

Changes: creates a missing database and KV namespace, migrates the database, and replaces the version that serves.
It checks wrangler.toml, the migrations, the bundle and the account first. --dry-run only checks.
Exit codes: 0 the new version serves, 1 a step failed: the message names it, and the state of the deployment.
Example: npm run deploy -- --env staging --location weur`)
  .option('--env <name>', 'an environment of wrangler.toml, such as staging, instead of production')
  .addOption(new Option('--location <hint>', 'where a new database is created').choices(LOCATIONS))
  .option('--dry-run', 'check everything, and print what a deployment would do')
  .option('--replace', 'replace a version that has commits which this working copy does not have')
  .option('--create', 'create a missing database or namespace of a Worker that exists')
  .option('--no-replicas', 'do not switch the read replicas of the database on');

/** The steps in their order, with the state after each of them has failed. */
const STATE_AFTER_FAILURE = {
  checks: 'Nothing was changed.',
  resources:
    'A created resource stays. No data was touched, and the active deployment was not changed.',
  migrations: 'Migrations that were applied stay. The active deployment was not changed.',
  upload:
    'The database has the new schema. `npx wrangler deployments list --env=` lists what serves.',
  'health check': '"When a deployment fails" in docs/operate/runbook.md has the next step.',
};

type Step = keyof typeof STATE_AFTER_FAILURE;
type Request = ReturnType<typeof parseRequest>;

/** The folder, wrangler and time limit of a deployment, which tests replace. */
type Dependencies = { directory: string; wrangler: typeof runWrangler; healthTimeoutMs?: number };

export const command = {
  program,
  invalidArgumentsExitCode: 1,
  parse: parseRequest,
  run,
} satisfies Command<Request>;

function parseRequest(args: string[]) {
  const { values } = readArguments(program, args);
  const { env, location, dryRun: isDryRun = false, replicas: wantsReplicas } = values;
  const { create: mayCreate = false, replace: mayReplace = false } = values;
  const environment = resolveEnvironment(env);
  return { environment, location, isDryRun, mayCreate, mayReplace, wantsReplicas };
}

async function run(
  request: Request,
  dependencies: Dependencies = { directory: PROJECT_DIRECTORY, wrangler: runWrangler },
): Promise<number> {
  const { environment } = request;
  let step: Step = 'checks';
  const begin = (next: Step) => {
    step = next;
  };
  const report = (reason: string) => {
    const state = STATE_AFTER_FAILURE[step].replace('--env=', `--env=${environment ?? ''}`);
    console.error(
      `The deployment to ${environment ?? 'production'} failed at the ${step}: ${reason}.\n${state} You can repeat \`${formatCommand(environment, 'deploy')}\`.`,
    );
  };
  const reportSignal = () => report('it was interrupted');
  try {
    await beforeSignals(reportSignal, () => deploy(request, dependencies, begin));
    return 0;
  } catch (error) {
    if (!needsNoStack(error)) throw error;
    report(describeError(error));
    return 1;
  }
}

async function deploy(
  request: Request,
  dependencies: Dependencies,
  begin: (step: Step) => void,
): Promise<void> {
  const { directory, wrangler, healthTimeoutMs } = dependencies;
  const { deployment, account, found, served } = await check(request, dependencies);
  const { worker } = deployment;
  const { tag, message } = describeCommit(directory);
  if (served !== undefined) console.log(`Replaces ${describeActiveDeployment(served)}`);
  for (const line of await describeKeySet(deployment)) console.log(line);
  if (found.database !== undefined) reportFullness(found.database);
  const plan = await planSteps(request, account, deployment, found);
  const steps = [...plan, `upload the version ${tag} (${message})`, 'check its health'];
  const intent = request.isDryRun ? 'Nothing was changed. A deployment would' : 'It will';
  console.log(`\n${intent}:\n- ${steps.join('\n- ')}`);
  if (request.isDryRun) return;

  begin('resources');
  const resources = await createMissing(account, deployment, found, request.location);
  const { database } = resources;
  const bookmark = await getCurrentBookmark(account, database);
  console.log(`Time Travel bookmark before this deployment: ${bookmark}`);

  begin('migrations');
  await migrate(restDatabase(account, database.uuid));
  if (request.wantsReplicas) await switchReplicasOn(account, database);

  begin('upload');
  if (!request.mayReplace) await requireSame(account, worker, served?.id);
  const target = `--env=${request.environment ?? ''}`;
  const args = ['deploy', '--tag', tag, '--message', message, target];
  const config = formatConfig(deployment, account.id, resources);
  // Next to wrangler.toml, because of its relative paths.
  const { isDone, output } = await withScratchFile(directory, 'wrangler.json', config, (file) =>
    wrangler([...args, '--config', file], true),
  );
  const [, version] = /^Current Version ID: (\S+)$/m.exec(output) ?? [];
  if (!isDone || version === undefined)
    throw new UserError('wrangler has printed the reason above');

  begin('health check');
  const origin = findOrigin(deployment, output);
  const address =
    origin === undefined
      ? 'without an address yet: add a route, or set workers_dev = true'
      : `at ${origin}, ${await awaitHealth(origin, version, worker, healthTimeoutMs)}`;
  console.log(`\nServed now: version ${version} (${tag}) ${address}`);
  if (served === undefined) {
    console.log(`No API key is set yet: \`npx wrangler secret put API_KEY ${target}\``);
  }
}

/** Everything that can be known before something changes. */
async function check(request: Request, { directory, wrangler }: Dependencies) {
  const { environment, mayCreate, mayReplace } = request;
  const deployment = loadDeployment(environment, directory);
  requireDeployable(deployment);
  requireAdditions();
  const build = await wrangler(['deploy', '--dry-run', `--env=${environment ?? ''}`]);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}`);
  const account = await openAccount(deployment.accountId);
  const found = await findResources(account, deployment);
  const served = await findActiveDeployment(account, deployment.worker);
  if (served !== undefined && !mayReplace) requireFastForward(served, directory);
  const { worker, databaseName, namespaceTitle } = deployment;
  const isComplete = found.database !== undefined && found.namespace !== undefined;
  if (!isComplete && served !== undefined && !mayCreate) {
    throw new UserError(
      `the Worker ${worker} serves already, and the account does not have its D1 database ${databaseName} or its KV namespace ${namespaceTitle}. Is a name in wrangler.toml misspelt? To create a new and empty one: \`${formatCommand(environment, 'deploy', '--create')}\``,
    );
  }
  if (found.database !== undefined) {
    const database = restDatabase(account, found.database.uuid);
    await rejectUnfinished(database);
    await rejectNewer(database);
  }
  return { deployment, account, found, served };
}

/** Returns what the log would say about the key set, which the service reads at its first token. */
async function describeKeySet({ keySetUrl, localKeySet }: Deployment): Promise<string[]> {
  const malformedEntries = [...(localKeySet?.malformedEntries ?? [])];
  const addMalformed = (entry: string) => malformedEntries.push(entry);
  const lines = keySetUrl === '' ? [] : [await describeRemoteKeySet(keySetUrl, addMalformed)];
  return [...malformedEntries.map((entry) => `ignored in the key set: ${entry}`), ...lines];
}

async function describeRemoteKeySet(
  url: string,
  onMalformed: (entry: string) => void,
): Promise<string> {
  try {
    const { length } = await fetchUsableKeys(url, onMalformed);
    return `usable keys at ${url}: ${length}`;
  } catch (error) {
    return `No bearer token will be valid, because of ${url}: ${describeCause(error)}`;
  }
}

type Found = Awaited<ReturnType<typeof findResources>>;

/** Lists what a deployment would change before its upload. */
async function planSteps(
  { wantsReplicas }: Request,
  account: Account,
  { databaseName, namespaceTitle }: Deployment,
  { database, namespace }: Found,
): Promise<string[]> {
  const pending = database
    ? await findPendingMigrations(restDatabase(account, database.uuid))
    : migrationNames();
  const hasReplicas = database?.read_replication?.mode === 'auto';
  return [
    ...(database ? [] : [`create the database ${databaseName}`]),
    ...(namespace ? [] : [`create the KV namespace ${namespaceTitle}`]),
    ...(pending.length > 0 ? [`migrate: ${pending.join(', ')}`] : []),
    ...(wantsReplicas && !hasReplicas ? ['switch the read replicas of the database on'] : []),
  ];
}

/** Throws a `UserError` if another version was deployed in the meantime. */
async function requireSame(account: Account, worker: string, version: string | undefined) {
  const now = await findActiveDeployment(account, worker);
  if (now === undefined || now.id === version) return;
  throw new UserError(
    `${describeActiveDeployment(now)}, was deployed in the meantime. Look at it, and repeat the command`,
  );
}

/** Returns the address of a custom domain or of workers.dev. A route has no address of its own. */
function findOrigin({ routes }: Deployment, output: string): string | undefined {
  const domain = routes.find(({ custom_domain }) => custom_domain);
  const [workersDev] = /https:\/\/[\w.-]+\.workers\.dev/.exec(output) ?? [];
  return process.env.SERVICE_ORIGIN || (domain && `https://${domain.pattern}`) || workersDev;
}

if (import.meta.main) await runCommand(command);
