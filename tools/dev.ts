/** `npm run dev`: sets the working copy up, and serves it until a signal. */

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { withLocalLock } from './command-line/local-lock.ts';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from './command-line/project.ts';
import { readVars } from './configuration/dev-vars.ts';
import { isNoise, notReady, requestLine, welcome } from './development/messages.ts';
import { findDebuggerPort, requireFreePort, resolvePort } from './development/port.ts';
import { prepareDevelopment } from './development/prepare.ts';

const ENTRY = 'src/development/dev-worker.ts';
const END_WITH_DEV = new URL('development/end-with-dev.ts', import.meta.url).href;
/** After this time the service is killed. */
const STOP_DEADLINE_MS = 5_000;

const USAGE = `Usage: npm run dev

Serves the working copy on port 3001, and reloads it after each change. Another port: PORT=4000 npm run dev
The first run creates .dev.vars, a key pair for tokens and the local database, and loads sample listings.
A terminal shows one short line per request, another output (npm run dev | cat) each line of the log as JSON.

Changes: .dev.vars, .dev.key.json and .wrangler/ in the working copy, and nothing elsewhere.
Exit codes: 0 after a signal, 1 if it could not serve, 2 for an argument.
Example: PORT=4000 npm run dev`;

/** The running service, once the set-up is done. */
let service: ChildProcess | undefined;
/** The ids of the processes that the service has started: end-with-dev.ts sends them. */
let runtimes: number[] = [];
let isStopping = false;
/** Whether the first response has come. */
let isAnnounced = false;

export const command: Command<unknown> = {
  usage: USAGE,
  parse: (args) => readArguments('dev', args, {}),
  run: develop,
};

if (import.meta.main) await runCommand(command, stop);

async function develop(): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  requireOwnFolder();
  const port = resolvePort(process.env.PORT, readVars().get('PORT'));
  await requireFreePort(port);
  const ended = Promise.withResolvers<number | null>();
  await withLocalLock(async () => {
    await prepareDevelopment();
    const isReady = Promise.withResolvers<void>();
    const debuggerPort = await findDebuggerPort(port);
    service = serve(port, debuggerPort, isReady.resolve).once('exit', ended.resolve);
    // Runtimes that start at the same moment find each other's new files locked.
    await Promise.race([isReady.promise, ended.promise]);
  });
  const code = await ended.promise;
  if (isStopping) return 0;
  console.error('The service has ended.');
  return code || 1;
}

/** The working copy may be read-only, or another user's. Throws a system error with the path. */
function requireOwnFolder(): void {
  accessSync(PROJECT_DIRECTORY, constants.W_OK);
  const written = ['.dev.vars', '.dev.key.json', '.wrangler', '.wrangler/lock.sqlite'];
  for (const path of written.map((name) => join(PROJECT_DIRECTORY, name))) {
    if (existsSync(path)) accessSync(path, constants.W_OK);
  }
}

function serve(port: number, debuggerPort: number, onReady: () => void): ChildProcess {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--port', String(port), '--inspector-port', String(debuggerPort)],
    // Stacks name functions.
    ...['--log-level', 'log', '--show-interactive-dev-session=false', '--minify=false'],
  );
  const started = spawn(process.execPath, [`--import=${END_WITH_DEV}`, ...args], {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  started.on('message', (message) => {
    // Wrangler sends messages of its own.
    runtimes = z.array(z.int()).safeParse(message).data ?? runtimes;
  });
  // A runtime would survive a killed wrangler.
  started.once('exit', () => {
    for (const pid of runtimes) process.kill(pid, 'SIGKILL');
  });
  createInterface({ input: started.stdout ?? process.stdin }).on('line', (line) => {
    show(line);
    if (isAnnounced || !line.startsWith('[wrangler:info] Ready')) return;
    onReady();
    void announce(`http://localhost:${port}`, debuggerPort);
  });
  return started;
}

/** Prints a line, unless it is wrangler's noise or about this program's own request. */
function show(line: string): void {
  const request = requestLine(line);
  if (request === undefined ? isNoise(line) : !isAnnounced) return;
  console.log((process.stdout.isTTY && request) || line);
}

/** Says how to use the service once it responds, or why all responses are errors. */
async function announce(origin: string, debuggerPort: number): Promise<void> {
  // No rate limit counts a path outside of /api.
  const { status } = await fetch(origin);
  isAnnounced = true;
  if (status >= 500) console.error(notReady(origin, status, readVars()));
  else console.log(welcome(origin, debuggerPort, readVars()));
}

/** Ends the service, and then this program. */
function stop(): void {
  if (service === undefined) process.exit(0);
  if (isStopping) return;
  isStopping = true;
  service.kill('SIGTERM');
  setTimeout(() => service?.kill('SIGKILL'), STOP_DEADLINE_MS).unref();
}
