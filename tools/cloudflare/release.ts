/** Uploads a version for `deploy` and `rollback`, asks for its health, and reports the result. */

import * as z from 'zod';
import { UserError } from '../command-line/project.ts';
import { commandFor, type Deployment } from '../command-line/wrangler-config.ts';
import type { Account } from './account.ts';
import { type DeployedVersion, healthOf } from './deployed-health.ts';
import { findServed } from './versions.ts';
import type { Wrangler } from './wrangler.ts';

/** The exit codes of `deploy` and `rollback`. */
export const EXIT = {
  served: 0,
  /** The version that serves is the same as before. */
  notDeployed: 1,
  /** A version was deployed, or may have been, and something after that failed. */
  deployedWithFault: 2,
} as const;

/** A failure once a version was deployed, or may have been. */
export class AfterDeployment extends UserError {}

/** The line of wrangler's report about an upload. */
const uploaded = z.looseObject({
  type: z.literal('deploy'),
  version_id: z.string(),
  targets: z.array(z.string()).nullish(),
});

export type Release = {
  account: Account;
  deployment: Deployment;
  wrangler: Wrangler;
  /** The commit of the code: its id becomes the tag of the version, its subject the message. */
  commit: { id: string; subject: string };
  /** Whether a custom domain of the deployment has led to no Worker before. */
  hasNewDomain: boolean;
  /** How long the new version may take to answer: see `healthOf`. */
  patienceMs?: number;
};

/**
 * Uploads the code. Returns a sentence that names the served version and its address. Throws a `UserError` when the
 * same version serves as before, and an `AfterDeployment` when another one serves or may serve.
 */
export async function release(all: Release): Promise<string> {
  const { account, deployment, wrangler, commit } = all;
  const before = await findServed(account, deployment.worker);
  const args = ['deploy', '--tag', commit.id, '--message', commit.subject];
  const { isDone } = await wrangler.run(args, { isShown: true });
  const entry = isDone ? uploadIn(wrangler) : undefined;
  if (entry === undefined) return failedUpload(all, before, isDone);
  const version = { id: entry.version_id, tag: commit.id, targets: entry.targets ?? [] };
  return checkHealth(all, version);
}

/** Throws the error of an upload that failed, or that wrangler does not report. Asks Cloudflare which version serves. */
async function failedUpload(
  { account, deployment }: Release,
  before: string | undefined,
  isDone: boolean,
): Promise<never> {
  const why = isDone
    ? 'wrangler does not say which version it uploaded'
    : 'wrangler could not upload the new version';
  const list = `\`npx wrangler deployments list --env=${deployment.environment ?? ''}\``;
  let now: string | undefined;
  try {
    now = await findServed(account, deployment.worker);
  } catch {
    throw new AfterDeployment(`${why}, and whether one is deployed is not known: ${list} tells`);
  }
  if (now === before) throw new UserError(why);
  throw new AfterDeployment(
    `version ${now} is deployed, but a step of wrangler after that failed, and its domains may not lead to it`,
  );
}

async function checkHealth(
  { deployment, hasNewDomain, patienceMs }: Release,
  version: DeployedVersion,
): Promise<string> {
  const health = await healthOf(version, deployment, patienceMs);
  if (health.kind === 'serves') return health.sentence;
  const { id, tag } = version;
  const { environment } = deployment;
  if (health.kind === 'down') {
    throw new AfterDeployment(
      `version ${id} (${tag}) serves, and ${health.fault}. Go back: \`${commandFor(environment, 'rollback')}\``,
    );
  }
  throw new AfterDeployment(
    hasNewDomain
      ? `version ${id} (${tag}) is deployed, and ${health.fault}. A custom domain was added: its certificate can take some minutes. Ask again then; there is nothing to repeat`
      : `version ${id} (${tag}) is deployed, and ${health.fault}. Ask again: the address may be new, or lead elsewhere`,
  );
}

/** Finds the last upload in wrangler's report, which may be missing or malformed. */
function uploadIn(wrangler: Wrangler): z.infer<typeof uploaded> | undefined {
  try {
    for (const line of wrangler.report().trim().split('\n').reverse()) {
      const entry = uploaded.safeParse(JSON.parse(line));
      if (entry.success) return entry.data;
    }
  } catch {
    // The report is missing or incomplete.
  }
  return undefined;
}
