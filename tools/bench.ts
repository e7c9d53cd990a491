/** `npm run bench`: measures the production bundle. */

import { type Command, readArguments, runCommand } from './command-line/command.ts';

const USAGE = `Usage: npm run bench [-- [--quick] [--latency]]

Measures requests per second of the production bundle on this machine, with small and with large tables.

  --quick    fewer and shorter rounds
  --latency  how long requests take with the hops of production added

Changes: nothing.
Exit codes: 0 the table is printed, 1 a request failed, 2 invalid arguments.
Example: npm run bench -- --quick`;

type Settings = { quick: boolean; latency: boolean };

export const command: Command<Settings> = { usage: USAGE, parse: parseSettings, run: measure };

if (import.meta.main) await runCommand(command);

function parseSettings(args: string[]): Settings {
  const flag = { type: 'boolean', default: false } as const;
  return readArguments('bench', args, { quick: flag, latency: flag }).values;
}

async function measure({ quick, latency }: Settings): Promise<number> {
  if (latency) {
    const { measureLatency } = await import('./bench/latency.ts');
    await measureLatency(quick ? { 1: 30, 10: 5, 100: 1 } : { 1: 100, 10: 20, 100: 4 });
  } else {
    const { measureRates } = await import('./bench/rates.ts');
    // Rounds are short, so that other work on the machine affects both sides of a ratio.
    await (quick ? measureRates(5, 0.5) : measureRates(15, 1));
  }
  return 0;
}
