/**
 * `npm run bench`: measures the production bundle in workerd against the floor of its design.
 *
 * `--quick` takes fewer and shorter rounds. `--scale` measures the service alone, at growing tables.
 * `--floor` measures the floor alone, with and without its parts. `--latency` measures the service with
 * production's hops added; `--counter`, `--d1`, `--kv` and `--edge` set their milliseconds.
 */

import { measureAgainstFloor } from './bench/against-floor.ts';
import { measureFloorModes } from './bench/floor-modes.ts';
import { measureLatency } from './bench/latency.ts';
import { measureScale } from './bench/scale.ts';
import { readArguments, understand } from './command-line/arguments.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';

requireKnownEnvironment();

const USAGE =
  'usage: npm run bench -- [--quick] [--scale | --floor | --latency [--counter MS] [--d1 MS] [--kv MS] [--edge MS]]';
const flag = { type: 'boolean', default: false } as const;
const hop = (milliseconds: string) => ({ type: 'string', default: milliseconds }) as const;
// docs/performance.md has the sources of these defaults.
const hops = { counter: hop('15'), d1: hop('30'), kv: hop('20'), edge: hop('7') };
const options = { quick: flag, scale: flag, floor: flag, latency: flag, ...hops };
const values = understand(() => readArguments('bench', process.argv.slice(2), options).values);
if ('problem' in values) {
  console.error(`${values.problem}\n${USAGE}`);
  process.exit(2);
}

// Short rounds: both sides of a ratio meet the same moment of the machine.
const rounds = values.quick ? { rounds: 5, seconds: 0.6 } : { rounds: 21, seconds: 1 };

if (values.latency) {
  const clients = values.quick ? { 1: 30, 10: 5, 100: 1 } : { 1: 100, 10: 20, 100: 4 };
  const { counter, d1, kv, edge } = values;
  await measureLatency(
    {
      counter: millisecondsOf(counter),
      d1: millisecondsOf(d1),
      kv: millisecondsOf(kv),
      edge: millisecondsOf(edge),
    },
    { clients, isSteady: !values.quick },
  );
} else if (values.scale) {
  await measureScale(values.quick ? { rounds: 1, seconds: 0.2 } : { rounds: 5, seconds: 0.5 });
} else if (values.floor) {
  await measureFloorModes(rounds);
} else {
  await measureAgainstFloor(rounds);
}

function millisecondsOf(text: string): number {
  if (!/^\d{1,4}$/.test(text)) {
    console.error(`${text} is no number of milliseconds up to 9999\n${USAGE}`);
    process.exit(2);
  }
  return Number(text);
}
