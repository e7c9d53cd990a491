/** The commit that names a version of the Worker, and the version's health when it serves. */

import * as z from 'zod';
import { parseJson } from '../../src/http/json-text.ts';
import { readGit } from '../command-line/git.ts';
import { UserError } from '../command-line/user-error.ts';
import { describeCause } from './account.ts';

/** Cloudflare accepts tags of 25 and messages of 100 characters. */
const TAG_CHARACTERS = 12;
const MESSAGE_CHARACTERS = 100;
/** How long a new version may need until it serves everywhere. Usually it needs a few seconds. */
const HEALTH_TIMEOUT_MS = 60_000;
const PAUSE_MS = 1_000;
const RESPONSE_DEADLINE_MS = 10_000;
/** Maximum length of the quoted line of a foreign response. */
const MAX_LINE_CHARACTERS = 100;

const health = z.object({
  status: z.enum(['ok', 'degraded', 'down']),
  deployment: z.object({ id: z.string() }),
  dependencies: z.record(z.string(), z.object({ status: z.enum(['ok', 'down']) })),
});

/** Returns the tag and message of a version. The tag ends in `-dirty` if files differ from the commit. Throws a `UserError` if git refuses. */
export function describeCommit(directory: string): { tag: string; message: string } {
  const commit = readGit(directory, 'log', '-1', `--abbrev=${TAG_CHARACTERS}`, '--format=%h %s');
  if (commit === undefined) return { tag: 'no-commit', message: 'deployed without git' };
  const isDirty = readGit(directory, 'status', '--porcelain') !== '';
  const [id = ''] = commit.split(' ');
  const message = commit.slice(0, MESSAGE_CHARACTERS);
  return { tag: isDirty ? `${id}-dirty` : id, message };
}

/** Requests the health until the version responds. Returns a message, or throws a `UserError`. */
export async function awaitHealth(
  origin: string,
  version: string,
  worker: string,
  healthTimeoutMs = HEALTH_TIMEOUT_MS,
): Promise<string> {
  const url = `${origin}/api/health/detailed`;
  const known = `version ${version} is deployed, and ${url}`;
  const deadline = Date.now() + healthTimeoutMs;
  for (;;) {
    const found = await readHealth(url, version, worker);
    const isHealth = typeof found !== 'string';
    if (isHealth && found.deployment.id === version) {
      const { status, dependencies } = found;
      const names = Object.keys(dependencies);
      const down = names.filter((name) => dependencies[name]?.status === 'down').join(', ');
      if (status === 'ok') return 'all is up';
      if (status === 'degraded') return `degraded: ${down} is down`;
      throw new UserError(`${known} reports that it is down: ${down}`);
    }
    if (Date.now() >= deadline) {
      throw new UserError(
        `${known} gets its responses from ${isHealth ? found.deployment.id : found}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Returns the health, or a description of what responds instead of the service. */
async function readHealth(
  url: string,
  version: string,
  worker: string,
): Promise<z.infer<typeof health> | string> {
  try {
    const response = await fetch(url, {
      // Cloudflare sends this request to the new version, even before it serves everywhere.
      headers: { 'Cloudflare-Workers-Version-Overrides': `${worker}="${version}"` },
      signal: AbortSignal.timeout(RESPONSE_DEADLINE_MS),
    });
    const text = await response.text();
    const { data } = health.safeParse(parseJson(text));
    if (data !== undefined) return data;
    const [line = ''] = text.trim().split('\n');
    return `something else (HTTP ${response.status}: ${line.slice(0, MAX_LINE_CHARACTERS)})`;
  } catch (error) {
    return `nothing that is usable (${describeCause(error)})`;
  }
}
