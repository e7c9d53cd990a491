/** Finds a Worker's active deployment, and prevents a deployment from undoing newer commits. */

import { spawnSync } from 'node:child_process';
import * as z from 'zod';
import { readGit } from '../command-line/git.ts';
import { UserError } from '../command-line/user-error.ts';
import { type Account, RejectedCallError } from './account.ts';

/**
 * The deployments of a Worker, newest first:
 * https://developers.cloudflare.com/api/resources/workers/subresources/scripts/subresources/deployments
 */
const deployments = z.object({
  deployments: z.array(
    z.object({
      created_on: z.string(),
      author_email: z.string().default('unknown'),
      versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
    }),
  ),
});
const version = z.object({
  annotations: z.object({ 'workers/tag': z.string().optional() }).default({}),
});

/**
 * A Worker's active version. If `npm run deploy` uploaded it, `tag` is a commit id, optionally
 * followed by `-dirty`.
 */
export type ActiveDeployment = { id: string; tag: string | undefined; at: string; by: string };

/**
 * Returns the version that receives most of the traffic; undefined if the Worker has no deployment.
 */
export async function findActiveDeployment(
  { call }: Account,
  worker: string,
): Promise<ActiveDeployment | undefined> {
  const script = `/workers/scripts/${worker}`;
  try {
    const [latest] = (await call(deployments, 'GET', `${script}/deployments`)).deployments;
    const [most] = latest?.versions.toSorted((a, b) => b.percentage - a.percentage) ?? [];
    if (latest === undefined || most === undefined) return undefined;
    const id = most.version_id;
    const { annotations } = await call(version, 'GET', `${script}/versions/${id}`);
    return { id, tag: annotations['workers/tag'], at: latest.created_on, by: latest.author_email };
  } catch (error) {
    if (error instanceof RejectedCallError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Describes a deployment, e.g. `version 0b5e… (f0e1d2c3b4a5), deployed by anna@example.com at
 * 2026-11-20T10:00:00Z`.
 */
export function describeActiveDeployment({ id, tag, at, by }: ActiveDeployment): string {
  return `version ${id} (${tag ?? 'no tag'}), deployed by ${by} at ${at}`;
}

/**
 * Throws a `UserError` if the active deployment contains commits that the working copy does not, or
 * if git fails. If git is not installed or the tag is not a commit id, the versions cannot be
 * compared, so every version is accepted.
 */
export function requireFastForward(active: ActiveDeployment, directory: string): void {
  const commit = (active.tag ?? '').replace(/-dirty$/, '');
  if (!/^[0-9a-f]{7,40}$/.test(commit)) return;
  if (readGit(directory, 'rev-parse', '--verify', 'HEAD') === undefined) return;
  // `readGit` would throw if a shallow clone does not contain the commit.
  const isAncestor = ['merge-base', '--is-ancestor', commit, 'HEAD'];
  if (spawnSync('git', isAncestor, { cwd: directory }).status === 0) return;
  throw new UserError(
    `${describeActiveDeployment(active)}, is active, and its commit is not in the history of your working copy. Run \`git pull\` (in CI, \`git fetch --unshallow\`), or replace the version with --replace`,
  );
}
