/** Describes the version that a deployment uploads, and waits until it is healthy. */

import * as z from 'zod';
import { parseJson } from '../../src/http/json-text.ts';
import { readGit } from '../command-line/git.ts';
import { UserError } from '../command-line/user-error.ts';
import { describeCause } from './account.ts';

/** Cloudflare limits tags to 25 characters and messages to 100. */
const TAG_CHARACTERS = 12;
const MESSAGE_CHARACTERS = 100;
/** Time limit for a new version to reach every location, which usually takes a few seconds. */
const HEALTH_TIMEOUT_MS = 60_000;
const PAUSE_MS = 1_000;
const RESPONSE_DEADLINE_MS = 10_000;
const MAX_LINE_CHARACTERS = 100;

const healthReport = z.object({
  status: z.enum(['ok', 'degraded', 'down']),
  deployment: z.object({ id: z.string() }),
  dependencies: z.record(z.string(), z.object({ status: z.enum(['ok', 'down']) })),
});

/**
 * Returns the tag and message for a version that is built from the working copy. The tag ends in
 * `-dirty` if there are uncommitted changes. Throws a `UserError` if git fails.
 */
export function describeCommit(directory: string): { tag: string; message: string } {
  const commit = readGit(directory, 'log', '-1', `--abbrev=${TAG_CHARACTERS}`, '--format=%h %s');
  if (commit === undefined) return { tag: 'no-commit', message: 'deployed without git' };
  const isDirty = readGit(directory, 'status', '--porcelain') !== '';
  const [id = ''] = commit.split(' ');
  const message = commit.slice(0, MESSAGE_CHARACTERS);
  return { tag: isDirty ? `${id}-dirty` : id, message };
}

/**
 * Polls the health endpoint until the new version responds, and returns a message about its
 * dependencies. Throws a `UserError` if the version is down or does not respond in time.
 */
export async function awaitHealth(
  origin: string,
  version: string,
  worker: string,
  timeoutMs = HEALTH_TIMEOUT_MS,
): Promise<string> {
  const url = `${origin}/api/health/detailed`;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const result = await requestHealth(url, version, worker);
    if (typeof result !== 'string' && result.deployment.id === version) {
      const { status, dependencies } = result;
      const names = Object.keys(dependencies);
      const downNames = names.filter((name) => dependencies[name]?.status === 'down').join(', ');
      if (status === 'ok') return 'All dependencies are up.';
      if (status === 'degraded') return `It is degraded by a failure of ${downNames}.`;
      throw new UserError(
        `version ${version} is deployed, but it is down, because ${url} reports a failure of ${downNames}`,
      );
    }
    if (Date.now() >= deadline) {
      const outcome =
        typeof result === 'string' ? result : `version ${result.deployment.id} responded`;
      throw new UserError(
        `version ${version} is deployed, but ${url} does not reach it. At the last attempt, ${outcome}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Requests the health report. If that fails, returns a clause that describes the failure. */
async function requestHealth(
  url: string,
  version: string,
  worker: string,
): Promise<z.infer<typeof healthReport> | string> {
  try {
    const response = await fetch(url, {
      // Cloudflare routes this request to the new version, even before it is active everywhere.
      headers: { 'Cloudflare-Workers-Version-Overrides': `${worker}="${version}"` },
      signal: AbortSignal.timeout(RESPONSE_DEADLINE_MS),
    });
    const text = await response.text();
    const { data } = healthReport.safeParse(parseJson(text));
    if (data !== undefined) return data;
    const [line = ''] = text.trim().split('\n');
    const firstLine = line.slice(0, MAX_LINE_CHARACTERS);
    return `another program responded with HTTP ${response.status} (${firstLine})`;
  } catch (error) {
    return `the request failed (${describeCause(error)})`;
  }
}
