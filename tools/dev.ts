/**
 * `npm run dev`: sets the working copy up, then serves it until it is stopped.
 *
 * Exits with 0 when it was asked to stop (SIGINT, SIGTERM), 1 when it could not serve, 2 when it was
 * given an argument.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { watchNpm } from './command-line/npm.ts';
import {
  PROJECT_DIRECTORY,
  UserError,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from './command-line/project.ts';
import { readVars } from './development/dev-vars.ts';
import { firstRequests } from './development/first-requests.ts';
import { portOf, requireFreePort } from './development/port.ts';
import { prepareDevelopment } from './development/prepare.ts';

/** The Worker that development serves. */
const ENTRY = 'src/docs/dev-worker.ts';
const POLL_MS = 200;
/** A service that was asked to stop is killed after this time. */
const STOP_DEADLINE_MS = 5_000;

if (process.argv.length > 2) {
  console.error('dev takes no arguments. Another port: PORT=4000 npm run dev');
  process.exit(2);
}

/** The running service, once the set-up is done. */
let service: ChildProcess | undefined;
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
watchNpm(stop);

try {
  const port = portOf(process.env.PORT, (await readVars('local')).get('PORT'));
  await requireFreePort(port);
  await prepareDevelopment();
  const apiKeys = (await readVars('local')).get('API_KEY') ?? '';
  service = serve(port);
  await announce(service, port, apiKeys);
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message);
  process.exit(1);
}

/** Starts wrangler in this process group. This program ends when it does. */
function serve(port: number): ChildProcess {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--port', String(port), '--inspector-port', '0'],
    '--show-interactive-dev-session=false',
  );
  const child = spawn(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, WRANGLER_LOG: 'log' },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  child.on('exit', (code) => process.exit(isStopping ? 0 : code || 1));
  return child;
}

/** Ends the service, and this program with it; during the set-up this program alone, at once. */
function stop(): void {
  const running = service;
  if (running === undefined) process.exit(0);
  if (isStopping) return;
  isStopping = true;
  running.kill('SIGTERM');
  setTimeout(() => running.kill('SIGKILL'), STOP_DEADLINE_MS).unref();
}

/** Says how to use the service once it answers. */
async function announce(service: ChildProcess, port: number, apiKeys: string): Promise<void> {
  const origin = `http://localhost:${port}`;
  while (!(await answers(origin))) {
    if (service.exitCode !== null) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const [apiKey = ''] = apiKeys
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (apiKey === '') console.log('\nAPI_KEY is empty in .dev.vars: only health will answer.');
  console.log(`\nReady. Try:\n\n${firstRequests(origin, apiKey).join('\n')}\n`);
}

/** Asks outside /api, so that nothing is counted against a client. */
async function answers(origin: string): Promise<boolean> {
  try {
    const response = await fetch(origin, { redirect: 'manual' });
    await response.body?.cancel();
    return true;
  } catch {
    return false;
  }
}
