/**
 * `npm run bench`: how fast the production bundle is in workerd, against the floor of its design.
 *
 * `--quick` takes shorter and fewer rounds. `--scale` measures the service alone, at growing tables;
 * `--floor` the floor alone, with and without its parts.
 */

import { measureAgainstFloor } from './bench/against-floor.ts';
import { measureFloorWays } from './bench/floor-ways.ts';
import { measureScale } from './bench/scale.ts';
import { readOptions } from './command-line/options.ts';

const flag = { type: 'boolean', default: false } as const;
const values = readOptions(
  { quick: flag, scale: flag, floor: flag },
  'usage: npm run bench -- [--quick] [--scale | --floor]',
);

const rounds = values.quick ? { rounds: 3, seconds: 1 } : { rounds: 7, seconds: 3 };

if (values.scale) {
  await measureScale(values.quick ? { rounds: 1, seconds: 0.2 } : { rounds: 5, seconds: 0.5 });
} else if (values.floor) {
  await measureFloorWays(rounds);
} else {
  await measureAgainstFloor(rounds);
}
