/**
 * `npm run dev`: sets the working copy up, and serves it until SIGINT or SIGTERM. If every response is a 500, it says
 * why, and continues.
 *
 * Exits with 0 after a signal, 1 if it could not serve, 2 for an argument.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { faultsOf } from '../src/config.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from './command-line/project.ts';
import { readVars } from './development/dev-vars.ts';
import { firstRequests } from './development/first-requests.ts';
import { findDebuggerPort, portOf, requireFreePort } from './development/port.ts';
import { prepareDevelopment } from './development/prepare.ts';

const ENTRY = 'src/development/dev-worker.ts';
const POLL_MS = 200;
/** After this time the service is killed. */
const STOP_DEADLINE_MS = 5_000;

const USAGE = `Usage: npm run dev

Sets the working copy up, and serves it on port 3001. Another port: PORT=4000 npm run dev`;

/** The running service, once the set-up is done. */
let service: ChildProcess | undefined;
let isStopping = false;

export const command: Command<unknown> = {
  usage: USAGE,
  parse: (args) => readArguments('dev', args, {}),
  run: develop,
};

if (import.meta.main) await runCommand(command);

async function develop(): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  watchNpm(stop);
  const port = portOf(process.env.PORT, readVars().get('PORT'));
  await requireFreePort(port);
  await prepareDevelopment();
  const debuggerPort = await findDebuggerPort(port);
  const started = serve(port, debuggerPort);
  service = started;
  const end = new Promise<number | null>((resolve) => started.once('exit', resolve));
  void announce(started, port, debuggerPort);
  const code = await end;
  return isStopping ? 0 : code || 1;
}

/** Wrangler prints a line per request and errors on a terminal, elsewhere also the lines that the Worker logs. */
function serve(port: number, debuggerPort: number): ChildProcess {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--port', String(port), '--inspector-port', String(debuggerPort)],
    ...['--log-level', process.stdout.isTTY ? 'info' : 'log'],
    // Stacks name functions.
    ...['--show-interactive-dev-session=false', '--minify=false'],
  );
  return spawn(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Says how to use the service once it responds, or why all responses are errors. */
async function announce(started: ChildProcess, port: number, debuggerPort: number): Promise<void> {
  const origin = `http://localhost:${port}`;
  let status: number | undefined;
  while (status === undefined) {
    if (started.exitCode !== null || started.signalCode !== null) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    // No rate limit counts a path outside of /api.
    const response = await fetch(origin, { redirect: 'manual' }).catch(() => undefined);
    await response?.body?.cancel();
    status = response?.status;
  }
  const vars = readVars();
  if (status >= 500) {
    const reason = faultsOf(Object.fromEntries(vars)).join('; ') || 'the log says why';
    console.error(
      `\nNot ready: every request is answered ${status}: ${reason}. A change of .dev.vars needs a restart.\n`,
    );
    return;
  }
  const keys = (vars.get('API_KEY') ?? '').split(',').map((key) => key.trim());
  const apiKey = keys.find((key) => key !== '') ?? '';
  if (apiKey === '') console.log('\nAPI_KEY is empty in .dev.vars: only health will answer.');
  console.log(`\nDebugger: ws://127.0.0.1:${debuggerPort}/ws`);
  if (vars.get('ENVIRONMENT') === 'development') {
    console.log(`\nPreview of the listings: ${origin}/preview\nAPI: ${origin}/api/docs`);
  }
  console.log(`\nReady. Try:\n\n${firstRequests(origin, apiKey).join('\n')}\n`);
}

/** Ends the service, and then this program. */
function stop(): void {
  if (service === undefined) process.exit(0);
  if (isStopping) return;
  isStopping = true;
  service.kill('SIGTERM');
  setTimeout(() => service?.kill('SIGKILL'), STOP_DEADLINE_MS).unref();
}
