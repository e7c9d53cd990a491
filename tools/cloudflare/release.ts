/** Uploads a version and requests its health. `rollback` runs this file of its target. */

import * as z from 'zod';
import { readArguments, runCommand } from '../command-line/command.ts';
import { UserError } from '../command-line/user-error.ts';
import {
  chosenEnvironment,
  commandFor,
  type Deployment,
  type Ids,
  soundDeploymentOf,
} from '../command-line/wrangler-config.ts';
import { type Account, openAccount } from './account.ts';
import { causeOf } from './api.ts';
import { findResources } from './resources.ts';
import { requireRoutes } from './routes.ts';
import { findServed } from './versions.ts';
import { runForDeployment } from './wrangler.ts';

/** Exit codes: the same version serves as before, or a deployed one may be faulty. */
export const EXIT = { served: 0, notDeployed: 1, deployedWithFault: 2 } as const;

/** A new version needs some seconds until it serves everywhere. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;
const RESPONSE_DEADLINE_MS = 10_000;

/** A failure after a version was deployed, or may have been. */
export class AfterDeployment extends UserError {}

const uploadEntry = z.looseObject({
  type: z.literal('deploy'),
  version_id: z.string(),
  targets: z.array(z.string()).nullish(),
});

const health = z.looseObject({
  status: z.enum(['ok', 'degraded', 'down']),
  deployment: z.looseObject({ id: z.string() }).optional(),
  dependencies: z.record(z.string(), z.looseObject({ status: z.enum(['ok', 'down']) })),
});

type Release = {
  account: Account;
  deployment: Deployment;
  ids: Ids;
  /** The id becomes the version's tag, the subject its message. */
  commit: { id: string; subject: string };
};

/** An uploaded version, and the addresses that wrangler reports for it. */
type UploadedVersion = { id: string; tag: string; targets: readonly string[] };

type Request = ReturnType<typeof parseRequest>;

if (import.meta.main) {
  await runCommand({
    usage: 'Usage: node tools/cloudflare/release.ts --tag TAG --message TEXT [--env NAME]',
    invalidArguments: EXIT.notDeployed,
    parse: parseRequest,
    run: (request) =>
      exitCodeOfSteps(() => releaseAgain(request), ...rollbackWords(request.environment)),
  });
}

/** Throws a `UserError` before the upload, and an `AfterDeployment` after it. */
export async function release({ account, deployment, ids, commit }: Release): Promise<number> {
  const before = await findServed(account, deployment.worker);
  const args = ['deploy', '--tag', commit.id, '--message', commit.subject];
  const { environment } = account;
  const run = await runForDeployment(deployment, args, { ids, environment, isShown: true });
  const entry = run.isDone ? uploadIn(run.report) : undefined;
  if (entry === undefined) {
    const why = run.isDone
      ? 'wrangler does not say which version it uploaded'
      : 'wrangler could not upload the new version';
    throw await faultOfUpload(account, deployment, before, why);
  }
  const version = { id: entry.version_id, tag: commit.id, targets: entry.targets ?? [] };
  console.log(`\nServed now: ${await untilServed(version, deployment)}`);
  return EXIT.served;
}

/** Runs the steps of `deploy` or `rollback`, prints why they failed, and returns the exit code. */
export async function exitCodeOfSteps(
  steps: () => Promise<number>,
  done: string,
  notDone: (reason: string) => string,
): Promise<number> {
  try {
    return await steps();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const isDeployed = error instanceof AfterDeployment;
    console.error(isDeployed ? `${done}, but: ${error.message}.` : notDone(error.message));
    return isDeployed ? EXIT.deployedWithFault : EXIT.notDeployed;
  }
}

export function rollbackWords(environment = 'production') {
  return [
    `Rolled back in ${environment}`,
    (reason: string) => `Not rolled back in ${environment}: ${reason}. Nothing has changed.`,
  ] as const;
}

function parseRequest(args: string[]) {
  const text = { type: 'string', default: '' } as const;
  const options = { env: { type: 'string' }, tag: text, message: text } as const;
  const { env, tag, message } = readArguments('release', args, options).values;
  return { environment: chosenEnvironment(env), tag, message };
}

async function releaseAgain({ environment, tag, message }: Request): Promise<number> {
  const deployment = soundDeploymentOf(environment);
  const account = await openAccount(deployment);
  await requireRoutes(account, deployment);
  const { databaseId, namespaceId, missing } = await findResources(account, deployment);
  if (databaseId === undefined || namespaceId === undefined) {
    throw new UserError(`the account has no ${missing.join(' and no ')}`);
  }
  const ids = { databaseId, namespaceId };
  return release({ account, deployment, ids, commit: { id: tag, subject: message } });
}

/** Returns the error of a failed or unreported upload. Asks Cloudflare which version serves. */
async function faultOfUpload(
  account: Account,
  { worker, environment = '' }: Deployment,
  before: string | undefined,
  why: string,
): Promise<UserError> {
  let now: string | undefined;
  try {
    now = await findServed(account, worker);
  } catch {
    const list = `\`npx wrangler deployments list --env=${environment}\``;
    return new AfterDeployment(`${why}, and whether one is deployed is not known: ${list} tells`);
  }
  if (now === before) return new UserError(why);
  return new AfterDeployment(
    `version ${now} is deployed, but a step of wrangler after that failed, and its domains may not lead to it`,
  );
}

/** Finds the last upload in wrangler's report, which may be incomplete. */
function uploadIn(report: string): z.infer<typeof uploadEntry> | undefined {
  try {
    const lines = report.trim().split('\n');
    const entries = lines.map((line) => uploadEntry.safeParse(JSON.parse(line)));
    return entries.findLast(({ success }) => success)?.data;
  } catch {
    return undefined;
  }
}

/** Returns a sentence about a version that serves, or throws an `AfterDeployment`. */
export async function untilServed(
  version: UploadedVersion,
  deployment: Deployment,
  patienceMs = PATIENCE_MS,
): Promise<string> {
  const title = `version ${version.id} (${version.tag})`;
  const origin = process.env.SERVICE_ORIGIN || originOf(version, deployment);
  if (origin === undefined) {
    return `${title}. It has no address yet: add a route, or set workers_dev = true`;
  }
  const url = `${origin}/api/health/detailed`;
  const deadline = Date.now() + patienceMs;
  let found = await readHealth(url, version, deployment);
  while (found.kind === 'unknown' && Date.now() <= deadline) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    found = await readHealth(url, version, deployment);
  }
  switch (found.kind) {
    case 'serves':
      return `${title} at ${origin}, ${found.sentence}`;
    case 'down': {
      const back = commandFor(deployment.environment, 'rollback');
      throw new AfterDeployment(
        `${title} serves, and ${url} ${found.sentence}. Go back: \`${back}\``,
      );
    }
    case 'unknown':
      throw new AfterDeployment(
        `${title} is deployed, and ${url} ${found.sentence}. Request it again in some minutes, which a new domain's certificate can take; there is nothing to repeat. The address may also lead elsewhere`,
      );
  }
}

type VersionHealth = { kind: 'serves' | 'down' | 'unknown'; sentence: string };

async function readHealth(
  url: string,
  { id }: UploadedVersion,
  { worker }: Deployment,
): Promise<VersionHealth> {
  let body: unknown;
  try {
    const response = await fetch(url, {
      // Cloudflare sends this request to the new version, even before it serves everywhere.
      headers: { 'Cloudflare-Workers-Version-Overrides': `${worker}="${id}"` },
      signal: AbortSignal.timeout(RESPONSE_DEADLINE_MS),
    });
    body = await response.json();
  } catch (error) {
    return { kind: 'unknown', sentence: `gives no usable response (${causeOf(error)})` };
  }
  const { data } = health.safeParse(body);
  if (data === undefined) return { kind: 'unknown', sentence: 'gives no usable response' };
  if (data.deployment?.id !== id) {
    const other = data.deployment?.id ?? 'unknown';
    return { kind: 'unknown', sentence: `still gets its responses from version ${other}` };
  }
  const down = Object.entries(data.dependencies).filter(([, { status }]) => status === 'down');
  const list = down.map(([name]) => name).join(', ');
  if (data.status === 'down') return { kind: 'down', sentence: `says that it is down: ${list}` };
  const sentence = data.status === 'ok' ? 'all is up' : `degraded: ${list} is down`;
  return { kind: 'serves', sentence };
}

/** Returns the address of a custom domain, or of workers.dev. A route has no address. */
function originOf({ targets }: UploadedVersion, { routes }: Deployment): string | undefined {
  const domain = routes.find(({ custom_domain }) => custom_domain);
  if (domain !== undefined) return `https://${domain.pattern}`;
  return targets.find((target) => /^https:\/\/[^*/]+$/.test(target));
}
