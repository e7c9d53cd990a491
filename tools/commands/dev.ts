/**
 * `npm run dev`: sets up the working copy, and serves it until a signal arrives. Completed steps of
 * the set-up are skipped.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { localEnvironment, wranglerCommand } from '../cloudflare/wrangler.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { UserError } from '../command-line/user-error.ts';
import { createDevVars, readVars } from '../configuration/dev-vars.ts';
import { ensureTables, rejectNewer } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { hasRows } from '../database/tables.ts';
import { ensureDevelopmentKeys } from '../development/key-pair.ts';
import { formatLogLine, isNoise, welcome } from '../development/messages.ts';
import {
  findDebuggerPort,
  LOOPBACK,
  parseHost,
  requireFree,
  resolvePort,
} from '../development/port.ts';
import { loadListings } from '../import/load-listings.ts';
import { readListingsFile } from '../import/read/json.ts';

const ENTRY = 'src/development/dev-worker.ts';
const SAMPLES = join(PROJECT_DIRECTORY, 'tools', 'samples', 'listings.json');
const LOCAL = { kind: 'local', environment: undefined } as const;
const EXIT_WITH_PARENT = new URL('../development/exit-with-parent.ts', import.meta.url).href;

const program = declare('dev')
  .option('--json', 'print each line of the log as JSON')
  .option(
    '--host <address>',
    'listen on this IP address, or on all addresses with 0.0.0.0, e.g. to use a phone. Everyone on that network can then use the key of .dev.vars, and read and change the local database',
    parseHost,
    LOOPBACK,
  )
  .description(`Serve the working copy on port 3001, and reload it after each change. To use another port: PORT=4000 npm run dev
The first run creates .dev.vars, a key pair for tokens and the local database, and loads sample listings.
Prints a short line for each request, and each error with its cause.

Changes: only .dev.vars, .dev.key.json and .wrangler/ in the working copy.
Exit codes: 0 after a signal, 1 the service did not start or has ended, 2 invalid arguments.
Example: PORT=4000 npm run dev -- --json`);

/** The running service; undefined until the set-up is complete. */
let service: ChildProcess | undefined;
let isStopping = false;

type Request = { json?: true | undefined; host: string };

export const command: Command<Request> = {
  program,
  parse: (args) => readArguments(program, args).values,
  run: develop,
};

async function develop({ json, host }: Request): Promise<number> {
  const port = resolvePort(process.env.PORT || readVars().get('PORT'));
  await requireFree(host, port);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  if (createDevVars()) console.log('Created .dev.vars from .dev.vars.example.');
  await ensureDevelopmentKeys();
  if (await migrateLocal()) await loadSampleListings();
  service = serve(host, port, await findDebuggerPort(port), json === true);
  const [code] = await once(service, 'exit');
  if (isStopping) return 0;
  console.error('The service has ended. Start it again: npm run dev');
  return code || 1;
}

/** Migrates the local database. Returns whether it has no listings. */
function migrateLocal(): Promise<boolean> {
  return withDatabase(LOCAL, async (database) => {
    await rejectNewer(database);
    await ensureTables(database, LOCAL, true);
    return !(await hasRows(database, 'properties'));
  });
}

async function loadSampleListings(): Promise<void> {
  const file = readListingsFile(readFileSync(SAMPLES));
  const outcome = await loadListings(file, {
    target: LOCAL,
    isDryRun: false,
    origin: { command: 'dev', file: SAMPLES },
  });
  if (outcome.kind === 'rejected')
    throw new UserError('the sample listings cannot be imported into this database');
  console.log(`Loaded ${outcome.effect.listings.length} sample listings.`);
}

function serve(host: string, port: number, debuggerPort: number, isJson: boolean): ChildProcess {
  const args = wranglerCommand(
    ...['dev', ENTRY, '--ip', host, '--port', String(port)],
    ...['--inspector-port', String(debuggerPort)],
    // Otherwise every request would appear to be for the host of the operator's route.
    '--infer-origin-from-routes=false',
    // Without minification, stack traces contain the names of functions.
    ...['--log-level', 'log', '--show-interactive-dev-session=false', '--minify=false'],
  );
  const wrangler = spawn(process.execPath, [`--import=${EXIT_WITH_PARENT}`, ...args], {
    cwd: PROJECT_DIRECTORY,
    env: { ...process.env, ...localEnvironment(), FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const format = (line: string) =>
    isJson ? line : formatLogLine(line, new Date().toTimeString().slice(0, 8));
  const readLines = (stream: Readable | null, onLine: (line: string) => void) =>
    stream && createInterface({ input: stream }).on('line', onLine);
  // Wrangler writes errors to stderr.
  readLines(wrangler.stderr, (line) => console.error(format(line)));
  readLines(wrangler.stdout, (line) => {
    if (!isNoise(line)) console.log(format(line));
    if (!line.startsWith('[wrangler:info] Ready')) return;
    console.log(welcome(host, port, debuggerPort, readVars()));
  });
  return wrangler;
}

/**
 * Stops the service, and with it this program. exit-with-parent.ts also ends a wrangler that hangs.
 */
function stop(): void {
  if (service === undefined) process.exit(0);
  isStopping = true;
  if (service.connected) service.disconnect();
}

if (import.meta.main) await runCommand(command);
