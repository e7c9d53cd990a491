/** `npm run bench`: measures the production bundle. */

import { type Command, readArguments, runCommand } from './command-line/command.ts';

const USAGE = `Usage: npm run bench [-- --latency]

Measures requests per second of the production bundle on this machine, with small and with large tables.

  --latency  how long requests take with the hops of production added

Changes: nothing.
Exit codes: 0 the table is printed, 1 a request failed, 2 invalid arguments.
Example: npm run bench -- --latency`;

export const command: Command<boolean> = { usage: USAGE, parse: parseLatency, run: measure };

if (import.meta.main) await runCommand(command);

function parseLatency(args: string[]): boolean {
  return readArguments('bench', args, { latency: { type: 'boolean', default: false } }).values
    .latency;
}

async function measure(isLatency: boolean): Promise<number> {
  if (isLatency) await (await import('./bench/latency.ts')).measureLatency();
  else await (await import('./bench/rates.ts')).measureRates();
  return 0;
}
