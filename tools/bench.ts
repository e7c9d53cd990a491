/**
 * `npm run bench`: measures the production bundle in workerd, each operation against a health read.
 *
 * `--quick` takes fewer and shorter rounds. `--scale` measures at growing tables. `--latency` adds the delays
 * of production's hops; `--counter`, `--d1`, `--kv` and `--edge` set them in milliseconds.
 */

import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { UserError } from './command-line/user-error.ts';

const USAGE = `Usage: npm run bench [-- [--quick] [--scale | --latency [--counter MS] [--d1 MS] [--kv MS] [--edge MS]]]

  --quick    fewer and shorter rounds
  --scale    how times grow with the tables
  --latency  how long requests take with the hops of production added
  --counter, --d1, --kv, --edge MS
             the milliseconds of each hop instead of those in docs/explain/performance.md`;

const flag = { type: 'boolean', default: false } as const;
const hop = (milliseconds: string) => ({ type: 'string', default: milliseconds }) as const;
// docs/explain/performance.md has the sources of these defaults.
const hops = { counter: hop('15'), d1: hop('30'), kv: hop('20'), edge: hop('7') };
const options = { quick: flag, scale: flag, latency: flag, ...hops };

export const command: Command<ReturnType<typeof parseSettings>> = {
  usage: USAGE,
  parse: parseSettings,
  run: measure,
};

if (import.meta.main) await runCommand(command);

function parseSettings(args: string[]) {
  const { counter, d1, kv, edge, ...flags } = readArguments('bench', args, options).values;
  const delays = {
    counter: millisecondsOf(counter),
    d1: millisecondsOf(d1),
    kv: millisecondsOf(kv),
    edge: millisecondsOf(edge),
  };
  return { ...flags, delays };
}

async function measure(settings: ReturnType<typeof parseSettings>): Promise<number> {
  const { quick, scale, latency, delays } = settings;
  if (latency) {
    const { measureLatency } = await import('./bench/latency.ts');
    const clients = quick ? { 1: 30, 10: 5, 100: 1 } : { 1: 100, 10: 20, 100: 4 };
    await measureLatency(delays, clients);
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

function millisecondsOf(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw new UserError(`${text} is no number of milliseconds up to 9999`);
}
