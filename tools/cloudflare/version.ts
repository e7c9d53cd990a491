/** Uploads the working copy as a version of the Worker, and requests the version's health. */

import { spawnSync } from 'node:child_process';
import * as z from 'zod';
import { UserError } from '../command-line/user-error.ts';
import type { Deployment } from '../configuration/wrangler-config.ts';
import type { Account } from './account.ts';
import { describeCause } from './api.ts';

/** Cloudflare takes tags of 25 and messages of 100 characters. */
const TAG_CHARACTERS = 12;
const MESSAGE_CHARACTERS = 100;
/** A new version needs some seconds until it serves everywhere. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;
const RESPONSE_DEADLINE_MS = 10_000;

const deployments = z.looseObject({
  deployments: z.array(
    z.looseObject({
      versions: z.array(z.looseObject({ version_id: z.string(), percentage: z.number() })),
    }),
  ),
});

const health = z.looseObject({
  status: z.enum(['ok', 'degraded', 'down']),
  deployment: z.looseObject({ id: z.string() }).optional(),
  dependencies: z.record(z.string(), z.looseObject({ status: z.enum(['ok', 'down']) })),
});

/** Returns the id of the version that most requests get; undefined if there is no such Worker. */
export async function findServed({ api, path }: Account, { worker }: Deployment) {
  const known = await api.find(deployments, `${path}/workers/scripts/${worker}/deployments`);
  const served = known?.deployments[0]?.versions.toSorted((a, b) => b.percentage - a.percentage);
  return served?.[0]?.version_id;
}

/** Returns the short id of the commit, `-dirty` if files differ, and its subject line. */
export function describeCommit(directory: string): { tag: string; message: string } {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
  const { status, stdout, stderr } = git('rev-parse', 'HEAD');
  if (status !== 0) {
    // e.g. in the folder of another user, which git does not read.
    console.log(`The version names no commit: ${stderr?.split('\n')[0] || 'git cannot be run'}`);
    return { tag: 'no-commit', message: 'deployed without git' };
  }
  const id = stdout.slice(0, TAG_CHARACTERS);
  const isDirty = git('status', '--porcelain').stdout !== '';
  const subject = git('log', '-1', '--format=%s').stdout.trim();
  const message = `${id} ${subject}`.slice(0, MESSAGE_CHARACTERS);
  return { tag: isDirty ? `${id}-dirty` : id, message };
}

/** Requests the health until the version responds. Returns a sentence, or throws a `UserError`. */
export async function awaitHealth(
  origin: string,
  version: string,
  { worker }: Deployment,
  patienceMs = PATIENCE_MS,
): Promise<string> {
  const url = `${origin}/api/health/detailed`;
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const waitMs = Math.max(deadline - Date.now(), PAUSE_MS);
    const { status, responder, down } = await readHealth(url, version, worker, waitMs);
    if (responder === version && status !== 'down') {
      return status === 'ok' ? 'all is up' : `degraded: ${down} is down`;
    }
    const known = `version ${version} is deployed, and ${url}`;
    if (responder === version) throw new UserError(`${known} says that it is down: ${down}`);
    if (Date.now() >= deadline) {
      throw new UserError(
        `${known} gets its responses from ${responder}. Request it again in some minutes, which a new domain's certificate can take. The address may also lead elsewhere`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** `responder` is the id of the version that responded, or the reason why none did. */
async function readHealth(url: string, version: string, worker: string, waitMs: number) {
  try {
    const response = await fetch(url, {
      // Cloudflare sends this request to the new version, even before it serves everywhere.
      headers: { 'Cloudflare-Workers-Version-Overrides': `${worker}="${version}"` },
      signal: AbortSignal.timeout(Math.min(waitMs, RESPONSE_DEADLINE_MS)),
    });
    const { status, deployment, dependencies } = health.parse(await response.json());
    const names = Object.keys(dependencies).filter((name) => dependencies[name]?.status === 'down');
    return { status, responder: deployment?.id ?? 'an unknown version', down: names.join(', ') };
  } catch (error) {
    return { responder: `nothing that is usable (${describeCause(error)})` };
  }
}
