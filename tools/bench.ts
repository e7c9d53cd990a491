/** `npm run bench`: measures the production bundle, each operation against a health read. */

import { type Command, readArguments, runCommand } from './command-line/command.ts';

const USAGE = `Usage: npm run bench [-- [--quick] [--scale | --latency]]

Measures requests per second of the production bundle on this machine, each against a health read.

  --quick    fewer and shorter rounds
  --scale    how times grow with the tables
  --latency  how long requests take with the hops of production added

Changes: nothing.
Exit codes: 0 the table is printed, 1 a request failed, 2 invalid arguments.
Example: npm run bench -- --quick`;

type Settings = ReturnType<typeof parseSettings>;

export const command: Command<Settings> = { usage: USAGE, parse: parseSettings, run: measure };

if (import.meta.main) await runCommand(command);

function parseSettings(args: string[]) {
  const flag = { type: 'boolean', default: false } as const;
  return readArguments('bench', args, { quick: flag, scale: flag, latency: flag }).values;
}

async function measure({ quick, scale, latency }: Settings): Promise<number> {
  if (latency) {
    const { measureLatency } = await import('./bench/latency.ts');
    await measureLatency(quick ? { 1: 30, 10: 5, 100: 1 } : { 1: 100, 10: 20, 100: 4 });
  } else if (scale) {
    const { measureScale } = await import('./bench/scale.ts');
    await measureScale(quick ? { rounds: 1, seconds: 0.2 } : { rounds: 5, seconds: 0.5 });
  } else {
    const { measureRates } = await import('./bench/rates.ts');
    // Rounds are short, so that other work on the machine affects both sides of a ratio.
    await measureRates(quick ? { rounds: 5, seconds: 0.6 } : { rounds: 21, seconds: 1 });
  }
  return 0;
}
