/** The production bundle over real HTTP, in a process group of its own that a test may kill. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEST_VARS } from '../vars.ts';
import { claimPort } from './port.ts';
import { productionBundle } from './production-service.ts';
import { copyStore } from './stores.ts';

export const API_KEY = 'node-test-key';

const START_DEADLINE_MS = 60_000;
const POLL_MS = 50;
const PROGRAM = join(import.meta.dirname, 'serve-bundle.ts');

/** A service with a store of its own, which survives `kill` and `start`. */
export type KillableService = {
  origin: string;
  /** Starts it and waits until it answers. */
  start(): Promise<void>;
  /** Sends SIGKILL to every process of it at once. */
  kill(): Promise<void>;
  /** Kills it and removes its store. */
  remove(): Promise<void>;
};

/** Makes a migrated store in a scratch directory; starts nothing. `vars` are added to the API key. */
export async function createKillableService(
  vars: Record<string, string>,
): Promise<KillableService> {
  const directory = mkdtempSync(join(tmpdir(), 'service-'));
  await copyStore('empty', directory);
  const port = await claimPort();
  const origin = `http://127.0.0.1:${port}`;
  const options = {
    bundle: await productionBundle(),
    vars: { ...TEST_VARS, API_KEY, ...vars },
    state: join(directory, 'v3'),
    port,
  };
  let child: ChildProcess | undefined;

  const kill = async () => {
    const running = child;
    child = undefined;
    if (running?.pid === undefined || running.exitCode !== null) return;
    const isGone = new Promise((resolve) => running.once('exit', resolve));
    process.kill(-running.pid, 'SIGKILL');
    await isGone;
  };
  return {
    origin,
    async start() {
      const args = ['--no-warnings', PROGRAM, JSON.stringify(options)];
      child = spawn(process.execPath, args, { detached: true, stdio: 'ignore' });
      await untilItAnswers(origin);
    },
    kill,
    async remove() {
      await kill();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Asks for a path outside /api, so that nothing is counted. */
async function untilItAnswers(origin: string): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS;
  while (Date.now() < deadline) {
    const response = await fetch(`${origin}/`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.status === 404) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('the service did not answer in time');
}
