/** Asks for the health of a version that was just deployed. */

import * as z from 'zod';
import type { Deployment } from '../command-line/wrangler-config.ts';

/** A new version takes some seconds to be served everywhere. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;
const ANSWER_DEADLINE_MS = 10_000;

export type DeployedVersion = {
  id: string;
  tag: string;
  /** The addresses at which wrangler says that the version is served. */
  targets: readonly string[];
};

const state = z.looseObject({ status: z.enum(['ok', 'down']) });
const health = z.looseObject({
  status: z.enum(['ok', 'degraded', 'down']),
  deployment: z.looseObject({ id: z.string() }).optional(),
  dependencies: z.record(z.string(), state),
});

/** `fault` names the address, and the fault of its answer. */
export type Health =
  | { kind: 'serves'; sentence: string }
  | { kind: 'down'; fault: string }
  | { kind: 'unknown'; fault: string };

/**
 * Asks for the detailed health until the version answers, for a minute unless `patienceMs` says otherwise.
 *
 * `SERVICE_ORIGIN` in the environment is asked instead of the Worker's own address, for a machine that reaches the
 * service another way.
 */
export async function healthOf(
  version: DeployedVersion,
  deployment: Deployment,
  patienceMs = PATIENCE_MS,
): Promise<Health> {
  const { id, tag } = version;
  const origin = process.env.SERVICE_ORIGIN || originOf(version, deployment);
  if (origin === undefined) {
    const advice = 'It has no address yet: add a route, or set workers_dev = true';
    return { kind: 'serves', sentence: `version ${id} (${tag}). ${advice}` };
  }
  const url = `${origin}/api/health/detailed`;
  const waitUntil = Date.now() + patienceMs;
  for (;;) {
    const answer = await ask(url, version, deployment);
    if (answer.kind === 'serves') {
      const sentence = `version ${id} (${tag}) at ${origin}, ${answer.status}`;
      return { kind: 'serves', sentence };
    }
    if (answer.isFinal || Date.now() > waitUntil) {
      return { kind: answer.isFinal ? 'down' : 'unknown', fault: `${url} ${answer.why}` };
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

type Answer =
  | { kind: 'serves'; status: string }
  | { kind: 'not yet'; why: string; isFinal: boolean };

async function ask(url: string, { id }: DeployedVersion, { worker }: Deployment): Promise<Answer> {
  let body: unknown;
  try {
    const response = await fetch(url, {
      // Cloudflare sends this request to the new version, even while it still serves an earlier one.
      headers: { 'Cloudflare-Workers-Version-Overrides': `${worker}="${id}"` },
      signal: AbortSignal.timeout(ANSWER_DEADLINE_MS),
    });
    body = await response.json();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = `gives no usable answer (${cause instanceof Error ? cause.message : String(cause)})`;
    return { kind: 'not yet', why, isFinal: false };
  }
  const parsed = health.safeParse(body);
  if (!parsed.success) return { kind: 'not yet', why: 'gives no usable answer', isFinal: false };
  const { status, deployment, dependencies } = parsed.data;
  if (deployment?.id !== id) {
    const why = `is still answered by version ${deployment?.id ?? 'unknown'}`;
    return { kind: 'not yet', why, isFinal: false };
  }
  const down = Object.entries(dependencies).filter((entry) => entry[1].status === 'down');
  const list = down.map(([name]) => name).join(', ');
  if (status === 'down')
    return { kind: 'not yet', why: `says that it is down: ${list}`, isFinal: true };
  return { kind: 'serves', status: status === 'ok' ? 'all is up' : `degraded: ${list} is down` };
}

/** Returns the address of a custom domain, else of workers.dev. The pattern of a route is no address. */
function originOf({ targets }: DeployedVersion, { routes }: Deployment): string | undefined {
  const domain = routes.find(({ isCustomDomain }) => isCustomDomain);
  if (domain !== undefined) return `https://${domain.pattern}`;
  return targets.find((target) => /^https:\/\/[^*/]+$/.test(target));
}
