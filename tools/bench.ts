/** `npm run bench`: measures the production bundle. */

import { type Command, declare, readArguments, runCommand } from './command-line/command.ts';

const program = declare('bench')
  .description(`Measures requests per second of the production bundle on this machine, with small and with large tables.

Changes: leaves its bundle in dist/bench.
Exit codes: 0 the table is printed, 1 a request failed, 2 invalid arguments.
Example: npm run bench -- --latency`)
  .option('--latency', 'how long requests take with the hops of production added');

export const command: Command<boolean> = {
  program,
  parse: (args) => readArguments(program, args).values.latency ?? false,
  run: measure,
};

async function measure(isLatency: boolean): Promise<number> {
  const { measureLatency, measureRates } = await import('./bench/measure.ts');
  await (isLatency ? measureLatency() : measureRates());
  return 0;
}

if (import.meta.main) await runCommand(command);
