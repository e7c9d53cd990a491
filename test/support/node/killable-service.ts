/** The production bundle over real HTTP, in its own process group, which a test may kill. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEST_VARS } from '../vars.ts';
import { claimPort } from './port.ts';
import { productionBundle } from './production-service.ts';
import { copyStore } from './stores.ts';

export const API_KEY = 'node-test-key';

const PROGRAM = join(import.meta.dirname, 'serve-bundle.ts');

/** A service with its own store, which survives `kill` and `start`. */
export type KillableService = {
  origin: string;
  /** Starts it and waits until it is ready. */
  start(): Promise<void>;
  /** Sends SIGKILL to every process of it at once. */
  kill(): Promise<void>;
  /** Kills it and removes its store. */
  remove(): Promise<void>;
};

/**
 * Makes a migrated store in a scratch directory; starts nothing. `vars` are added to the API key.
 */
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
    process.kill(-running.pid, 'SIGKILL');
    await once(running, 'exit');
  };
  return {
    origin,
    async start() {
      const args = ['--no-warnings', PROGRAM, JSON.stringify(options)];
      const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
      const started = spawn(process.execPath, args, { detached: true, stdio });
      child = started;
      // It prints a line when it is ready.
      await once(started.stdout, 'data');
    },
    kill,
    async remove() {
      await kill();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
