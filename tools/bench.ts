/**
 * `npm run bench`: measures the production bundle in workerd against the floor of its design.
 *
 * `--quick` takes fewer and shorter rounds. `--scale` measures the service alone, at growing tables.
 * `--floor` measures the floor alone, with and without its parts.
 */

import { measureAgainstFloor } from './bench/against-floor.ts';
import { measureFloorModes } from './bench/floor-modes.ts';
import { measureScale } from './bench/scale.ts';
import { readOptions } from './command-line/options.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';

requireKnownEnvironment();

const flag = { type: 'boolean', default: false } as const;
const values = readOptions(
  { quick: flag, scale: flag, floor: flag },
  'usage: npm run bench -- [--quick] [--scale | --floor]',
);

const rounds = values.quick ? { rounds: 3, seconds: 1 } : { rounds: 7, seconds: 3 };

if (values.scale) {
  await measureScale(values.quick ? { rounds: 1, seconds: 0.2 } : { rounds: 5, seconds: 0.5 });
} else if (values.floor) {
  await measureFloorModes(rounds);
} else {
  await measureAgainstFloor(rounds);
}
