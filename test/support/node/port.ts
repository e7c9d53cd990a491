/**
 * Ports for the programs that tests start. They are below the ports that the system gives to
 * outgoing connections (32768 and above), so that no connection takes a port before its program
 * listens.
 */

import { requireFreePort } from '../../../tools/development/port.ts';

/**
 * `dev` adds 6,228 for its debugger: these lie below 32768 too, and none is another service's port.
 */
const FIRST = 21_000;
/** Each worker of Vitest has one port of each step. */
const STEP = 50;
const STEPS = 100;

const worker = Number(process.env.VITEST_POOL_ID) % STEP;
// Another run on this machine most likely begins elsewhere.
let step = Math.floor(Math.random() * STEPS);

/** Returns a free port that no other test of this run has. */
export async function claimPort(): Promise<number> {
  for (let attempt = 0; attempt < STEPS; attempt += 1) {
    step = (step + 1) % STEPS;
    const port = FIRST + step * STEP + worker;
    const isFree = await requireFreePort(port).then(
      () => true,
      () => false,
    );
    if (isFree) return port;
  }
  throw new Error('no port is free');
}
