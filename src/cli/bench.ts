/**
 * `npm run bench`: how fast the production bundle is in workerd, against the floor of its design.
 *
 * `--quick` takes shorter and fewer rounds.
 */

import { parseArgs } from 'node:util';
import { measureAgainstFloor } from './bench/against-floor.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });

await measureAgainstFloor(values.quick ? { rounds: 3, seconds: 1 } : { rounds: 7, seconds: 3 });
