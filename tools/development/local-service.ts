/** The service under `wrangler dev`: its process, its output and whether it is ready. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';
import { isReloadLine, isRequestLine, parseLogLine } from './output.ts';

/** The Worker that development serves. */
const ENTRY = 'src/development/dev-worker.ts';
const POLL_MS = 200;
/** The Worker's line in the log comes within this time after the answer. */
const MAX_LOG_DELAY_MS = 2_000;

export type Readiness = { isReady: true } | { isReady: false; reason: string };

export type LocalService = {
  process: ChildProcess;
  /** Waits until the service answers. Undefined when it has ended instead. */
  readiness(): Promise<Readiness | undefined>;
};

export type ServiceOptions = {
  port: number;
  debuggerPort: number;
  /** Called when wrangler has reloaded the Worker after a change. */
  onReload: () => void;
};

/**
 * Starts wrangler in this process group and passes its output on. It leaves out wrangler's line about each request,
 * because the Worker logs one, and the Worker's lines about the requests of `readiness`.
 */
export function startLocalService({ port, debuggerPort, onReload }: ServiceOptions): LocalService {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--port', String(port), '--inspector-port', String(debuggerPort)],
    // Stacks name functions.
    ...['--show-interactive-dev-session=false', '--minify=false'],
  );
  const child = spawn(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, ...colours(), WRANGLER_LOG: 'log' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

  /** The request ids of `readiness`, each with the fault that the Worker has logged for it. */
  const faults = new Map<string, string | undefined>();
  const relay = (from: Readable, to: Writable) =>
    createInterface({ input: from }).on('line', (line) => {
      const logged = parseLogLine(line);
      if (logged !== undefined && faults.has(logged.requestId)) {
        if (logged.fault !== undefined) faults.set(logged.requestId, logged.fault);
        return;
      }
      if (!isRequestLine(line)) to.write(`${line}\n`);
      if (isReloadLine(line)) onReload();
    });
  relay(child.stdout, process.stdout);
  relay(child.stderr, process.stderr);

  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    async readiness() {
      while (!hasEnded()) {
        const requestId = `dev-${randomUUID()}`;
        faults.set(requestId, undefined);
        const status = await statusOf(`http://localhost:${port}/`, requestId);
        if (status !== undefined && status < 500) return { isReady: true };
        if (status !== undefined) {
          const isLogged = () => faults.get(requestId) !== undefined || hasEnded();
          await waitUntil(isLogged, MAX_LOG_DELAY_MS);
          const fault = faults.get(requestId) ?? 'the log says why';
          return { isReady: false, reason: `every request is answered ${status}: ${fault}` };
        }
        await pause();
      }
      return undefined;
    },
  };
}

/** Asks for a path outside of /api, which no rate limit counts. */
async function statusOf(url: string, requestId: string): Promise<number | undefined> {
  try {
    const headers = { 'X-Request-ID': requestId };
    const response = await fetch(url, { redirect: 'manual', headers });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}

/** Returns the variable that makes wrangler print colours into a pipe, if this program's terminal shows them. */
function colours(): Record<string, string> {
  const isWanted = process.stdout.isTTY && process.env.NO_COLOR === undefined;
  return isWanted ? { FORCE_COLOR: '1' } : {};
}

async function waitUntil(isTrue: () => boolean, milliseconds: number): Promise<void> {
  const deadline = Date.now() + milliseconds;
  while (!isTrue() && Date.now() < deadline) await pause();
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
