/** `npm run dev`: sets the working copy up, and serves it until a signal. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createInterface } from 'node:readline';
import { faultsOf } from '../src/config.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { withLocalLock } from './command-line/local-lock.ts';
import {
  PROJECT_DIRECTORY,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from './command-line/project.ts';
import { readVars } from './configuration/dev-vars.ts';
import { isNoise, requestLine, welcome } from './development/messages.ts';
import { findDebuggerPort, portOf, requireFreePort } from './development/port.ts';
import { prepareDevelopment } from './development/prepare.ts';

const ENTRY = 'src/development/dev-worker.ts';
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
  const port = portOf(process.env.PORT, readVars().get('PORT'));
  await requireFreePort(port);
  accessSync(PROJECT_DIRECTORY, constants.W_OK);
  const ended = Promise.withResolvers<number | null>();
  await withLocalLock(async () => {
    await prepareDevelopment(`http://localhost:${port}`);
    const isReady = Promise.withResolvers<void>();
    const debuggerPort = await findDebuggerPort(port);
    service = serve(port, debuggerPort, isReady.resolve).once('exit', ended.resolve);
    // Runtimes that start at the same moment find each other's new files locked.
    await Promise.race([isReady.promise, ended.promise]);
  });
  const code = await ended.promise;
  return isStopping ? 0 : code || 1;
}

function serve(port: number, debuggerPort: number, onReady: () => void): ChildProcess {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--port', String(port), '--inspector-port', String(debuggerPort)],
    // Stacks name functions.
    ...['--log-level', 'log', '--show-interactive-dev-session=false', '--minify=false'],
  );
  const started = spawn(process.execPath, args, {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...WRANGLER_ENVIRONMENT, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: started.stdout }).on('line', (line) => {
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
  const vars = readVars();
  if (status >= 500) {
    const reason = faultsOf(Object.fromEntries(vars)).join('; ') || 'the log says why';
    console.error(
      `\nNot ready: every response of ${origin} is a ${status}: ${reason}. Restart after a change of .dev.vars.\n`,
    );
    return;
  }
  console.log(welcome(origin, debuggerPort, vars));
}

/** Ends the service, and then this program. */
function stop(): void {
  if (service === undefined) process.exit(0);
  if (isStopping) return;
  isStopping = true;
  service.kill('SIGTERM');
  setTimeout(() => {
    // Its runtime would survive it.
    spawnSync('pkill', ['-KILL', '-P', String(service?.pid)]);
    service?.kill('SIGKILL');
  }, STOP_DEADLINE_MS).unref();
}
