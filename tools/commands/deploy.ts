/** `npm run deploy`: deploys the service. It completes all checks before it changes anything. */

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
  type ExistingResources,
  enableReplicas,
  findResources,
  getCurrentBookmark,
  reportFullness,
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
  listMigrations,
  migrate,
  rejectNewer,
  requireAdditions,
} from '../database/migrations.ts';
import { createRestDatabase } from '../database/open.ts';

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'];

const program = declare('deploy')
  .description(`Deploy this working copy to production, or to the environment of --env. You can repeat the command after any failure.

Changes: creates the database and the KV namespace if they are missing, migrates the database, and replaces the active deployment.
It first checks wrangler.toml, the migrations, the bundle and the account. With --dry-run it only checks.
Exit codes: 0 the new version is active, 1 a step failed. The message names the step and what has changed so far.
Example: npm run deploy -- --env staging --location weur`)
  .option(
    '--env <name>',
    'deploy to an environment of wrangler.toml, such as staging, instead of production',
  )
  .addOption(new Option('--location <hint>', 'where to create a new database').choices(LOCATIONS))
  .option('--dry-run', 'check everything, print what a deployment would do, and change nothing')
  .option('--replace', 'replace a version that has commits which your working copy does not have')
  .option('--create', 'create a missing database or namespace although the Worker already exists')
  .option(
    '--no-replicas',
    'leave the read replicas of the database unchanged, instead of switching them on',
  );

/** The steps in the order in which they run, each with the state after a failure in it. */
const STATE_AFTER_FAILURE = {
  checks: 'Nothing was changed.',
  resources: 'Created resources remain. The data and the active deployment were not changed.',
  migrations: 'Applied migrations remain. The active deployment was not changed.',
  upload:
    'The database has the new schema. `npx wrangler deployments list --env=` lists the active deployment.',
  'health check': 'For the next step, see "When a deployment fails" in docs/operate/runbook.md.',
};

type Step = keyof typeof STATE_AFTER_FAILURE;
type Request = ReturnType<typeof parseRequest>;

/** The dependencies of a deployment, which tests replace. */
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
  const beginStep = (nextStep: Step) => {
    step = nextStep;
  };
  const report = (reason: string) => {
    const state = STATE_AFTER_FAILURE[step].replace('--env=', `--env=${environment ?? ''}`);
    console.error(
      `The deployment to ${environment ?? 'production'} failed at the ${step}: ${reason}.\n${state} You can repeat \`${formatCommand(environment, 'deploy')}\`.`,
    );
  };
  const reportSignal = () => report('it was interrupted');
  try {
    await beforeSignals(reportSignal, () => deploy(request, dependencies, beginStep));
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
  beginStep: (step: Step) => void,
): Promise<void> {
  const { directory, wrangler, healthTimeoutMs } = dependencies;
  const { deployment, account, existing, activeDeployment } = await check(request, dependencies);
  const { worker } = deployment;
  const { tag, message } = describeCommit(directory);
  if (activeDeployment !== undefined) {
    console.log(`Replaces ${describeActiveDeployment(activeDeployment)}`);
  }
  for (const line of await describeKeySet(deployment)) console.log(line);
  if (existing.database !== undefined) reportFullness(existing.database);
  const changes = await listChanges(request, account, deployment, existing);
  const steps = [...changes, `upload the version ${tag} (${message})`, 'check its health'];
  const intent = request.isDryRun
    ? 'Nothing was changed. A deployment would'
    : 'This deployment will';
  console.log(`\n${intent}:\n- ${steps.join('\n- ')}`);
  if (request.isDryRun) return;

  beginStep('resources');
  const resources = await createMissing(account, deployment, existing, request.location);
  const { database } = resources;
  const bookmark = await getCurrentBookmark(account, database);
  console.log(`Time Travel bookmark before this deployment: ${bookmark}`);

  beginStep('migrations');
  await migrate(createRestDatabase(account, database.uuid));
  if (request.wantsReplicas) await enableReplicas(account, database);

  beginStep('upload');
  if (!request.mayReplace) await requireSameVersion(account, worker, activeDeployment?.id);
  const target = `--env=${request.environment ?? ''}`;
  const args = ['deploy', '--tag', tag, '--message', message, target];
  const config = formatConfig(deployment, account.id, resources);
  // The file must be next to wrangler.toml, because both contain the same relative paths.
  const { isDone, output } = await withScratchFile(directory, 'wrangler.json', config, (file) =>
    wrangler([...args, '--config', file], true),
  );
  const [, version] = /^Current Version ID: (\S+)$/m.exec(output) ?? [];
  if (!isDone || version === undefined) throw new UserError("see wrangler's output above");

  beginStep('health check');
  const origin = findOrigin(deployment, output);
  const address =
    origin === undefined
      ? '. It has no address yet. Add a route, or set workers_dev = true.'
      : ` at ${origin}. ${await awaitHealth(origin, version, worker, healthTimeoutMs)}`;
  console.log(`\nDeployed version ${version} (${tag})${address}`);
  if (activeDeployment === undefined) {
    console.log(`No API key is set yet. Set one: \`npx wrangler secret put API_KEY ${target}\``);
  }
}

/**
 * Checks everything that can be checked without changing anything. Throws a `UserError` if a check
 * fails.
 */
async function check(request: Request, { directory, wrangler }: Dependencies) {
  const { environment, mayCreate, mayReplace } = request;
  const deployment = loadDeployment(environment, directory);
  requireDeployable(deployment);
  requireAdditions();
  const build = await wrangler(['deploy', '--dry-run', `--env=${environment ?? ''}`]);
  if (!build.isDone) throw new UserError(`the bundle cannot be built\n${build.output}`);
  const account = await openAccount(deployment.accountId);
  const existing = await findResources(account, deployment);
  const activeDeployment = await findActiveDeployment(account, deployment.worker);
  if (activeDeployment !== undefined && !mayReplace) {
    requireFastForward(activeDeployment, directory);
  }
  const { worker, databaseName, namespaceTitle } = deployment;
  const isComplete = existing.database !== undefined && existing.namespace !== undefined;
  if (!isComplete && activeDeployment !== undefined && !mayCreate) {
    throw new UserError(
      `the Worker ${worker} exists, but the account does not have its D1 database ${databaseName} or its KV namespace ${namespaceTitle}. If the name in wrangler.toml is misspelt, correct it. To create a new, empty one, run \`${formatCommand(environment, 'deploy', '--create')}\``,
    );
  }
  if (existing.database !== undefined) {
    const database = createRestDatabase(account, existing.database.uuid);
    await rejectUnfinished(database);
    await rejectNewer(database);
  }
  return { deployment, account, existing, activeDeployment };
}

/**
 * Returns lines that describe the key set. Otherwise an operator would discover problems only in
 * the log, because the service does not read the key set until it receives a token.
 */
async function describeKeySet({ keySetUrl, localKeySet }: Deployment): Promise<string[]> {
  const malformedEntries = [...(localKeySet?.malformedEntries ?? [])];
  const addMalformed = (entry: string) => malformedEntries.push(entry);
  const lines = keySetUrl === '' ? [] : [await describeRemoteKeySet(keySetUrl, addMalformed)];
  return [...malformedEntries.map((entry) => `Ignored in the key set: ${entry}`), ...lines];
}

async function describeRemoteKeySet(
  url: string,
  onMalformed: (entry: string) => void,
): Promise<string> {
  try {
    const { length } = await fetchUsableKeys(url, onMalformed);
    return `Usable keys at ${url}: ${length}`;
  } catch (error) {
    return `The service will reject every bearer token, because of ${url}: ${describeCause(error)}`;
  }
}

/** Lists what a deployment will change before it uploads the Worker. Each item is an imperative. */
async function listChanges(
  { wantsReplicas }: Request,
  account: Account,
  { databaseName, namespaceTitle }: Deployment,
  { database, namespace }: ExistingResources,
): Promise<string[]> {
  const pending = database
    ? await findPendingMigrations(createRestDatabase(account, database.uuid))
    : listMigrations();
  const hasReplicas = database?.read_replication?.mode === 'auto';
  return [
    ...(database ? [] : [`create the database ${databaseName}`]),
    ...(namespace ? [] : [`create the KV namespace ${namespaceTitle}`]),
    ...(pending.length > 0 ? [`migrate: ${pending.join(', ')}`] : []),
    ...(wantsReplicas && !hasReplicas ? ['switch the read replicas of the database on'] : []),
  ];
}

/** Throws a `UserError` if a different version has become active since the checks. */
async function requireSameVersion(account: Account, worker: string, version: string | undefined) {
  const activeDeployment = await findActiveDeployment(account, worker);
  if (activeDeployment === undefined || activeDeployment.id === version) return;
  throw new UserError(
    `${describeActiveDeployment(activeDeployment)}, has become active since the checks. Look at its changes before you repeat the command`,
  );
}

/**
 * Returns the origin of the custom domain or of workers.dev; undefined if the Worker has only
 * routes.
 */
function findOrigin({ routes }: Deployment, output: string): string | undefined {
  const domain = routes.find(({ custom_domain }) => custom_domain);
  const [workersDev] = /https:\/\/[\w.-]+\.workers\.dev/.exec(output) ?? [];
  return process.env.SERVICE_ORIGIN || (domain && `https://${domain.pattern}`) || workersDev;
}

if (import.meta.main) await runCommand(command);
