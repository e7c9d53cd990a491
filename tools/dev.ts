/**
 * `npm run dev`: sets the working copy up, then serves it until it is stopped.
 *
 * Exits with 0 when it was asked to stop (SIGINT, SIGTERM), 1 when it could not serve, 2 when it was
 * given an argument. It goes on serving when every answer is a 500, and says why it is not ready.
 */

import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import { readVars } from './development/dev-vars.ts';
import { firstRequests } from './development/first-requests.ts';
import { type LocalService, startLocalService } from './development/local-service.ts';
import { findDebuggerPort, portOf, requireFreePort } from './development/port.ts';
import { prepareDevelopment } from './development/prepare.ts';

/** The service is killed when it has not stopped by this time. */
const STOP_DEADLINE_MS = 5_000;
/** The last lines of the service's output come within this time after its end. */
const LAST_LINES_MS = 1_000;

const USAGE = `Usage: npm run dev

Sets the working copy up, and serves it on port 3001. Another port: PORT=4000 npm run dev`;

/** The running service, once the set-up is done. */
let service: LocalService | undefined;
let isStopping = false;

/** `npm run dev`. */
export const command: Command<unknown> = {
  usage: USAGE,
  parse: (args) => readArguments('dev', args, {}),
  run: develop,
};

if (import.meta.main) await runCommand(command);

/** Sets the working copy up and serves it. This program ends when the service does. */
async function develop(): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  watchNpm(stop);
  // The reader of the output has ended.
  for (const output of [process.stdout, process.stderr]) output.on('error', stop);
  const port = portOf(process.env.PORT, readVars().get('PORT'));
  await requireFreePort(port);
  await prepareDevelopment();
  service = await serve(port);
  return 0;
}

/** Starts the service, and says how to use it once it is ready. */
async function serve(port: number): Promise<LocalService> {
  const debuggerPort = await findDebuggerPort(port);
  let isAnnounced = false;
  const announce = async (started: LocalService) => {
    const readiness = await started.readiness();
    if (readiness === undefined || isAnnounced) return;
    isAnnounced = readiness.isReady;
    if (readiness.isReady) announceReady(port, debuggerPort);
    else
      console.error(`\nNot ready: ${readiness.reason}. A change of .dev.vars needs a restart.\n`);
  };
  const started = startLocalService({
    port,
    debuggerPort,
    onReload: () => {
      if (!isAnnounced) void announce(started);
    },
  });
  const end = (code: number | null) => process.exit(isStopping ? 0 : code || 1);
  // 'close' comes after the last lines, and not at all while another program holds the output open.
  started.process.on('close', end);
  started.process.on('exit', (code) => setTimeout(() => end(code), LAST_LINES_MS).unref());
  void announce(started);
  return started;
}

function announceReady(port: number, debuggerPort: number): void {
  const vars = readVars();
  const apiKeys = vars.get('API_KEY') ?? '';
  const [apiKey = ''] = apiKeys
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (apiKey === '') console.log('\nAPI_KEY is empty in .dev.vars: only health will answer.');
  console.log(`\nDebugger: ws://127.0.0.1:${debuggerPort}/ws`);
  const origin = `http://localhost:${port}`;
  if (vars.get('ENVIRONMENT') === 'development') {
    console.log(`\nPreview of the listings: ${origin}/preview\nAPI: ${origin}/api/docs`);
  }
  const requests = firstRequests(origin, apiKey);
  console.log(`\nReady. Try:\n\n${requests.join('\n')}\n`);
}

/** Ends the service, and this program with it. During the set-up it ends this program at once. */
function stop(): void {
  const running = service?.process;
  if (running === undefined) process.exit(0);
  if (isStopping) return;
  isStopping = true;
  running.kill('SIGTERM');
  setTimeout(() => running.kill('SIGKILL'), STOP_DEADLINE_MS).unref();
}
