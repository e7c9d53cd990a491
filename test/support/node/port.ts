/**
 * Ports for the programs that tests start. They are below the ports that the system gives to
 * outgoing connections (32768 and above), so that no connection takes a port before its program
 * listens. `dev` adds 6,228 for its debugger: these lie below 32768 too.
 */

import { requireFreePort } from '../../../tools/development/port.ts';

const FIRST = 21_000;
/** Each worker of Vitest has one port of each step. */
const STEP = 50;
const STEPS = 100;

// Another run on this machine most likely begins elsewhere.
let step = Math.floor(Math.random() * STEPS);

/** Returns a free port that no other test of this run has. */
export async function claimPort(attempts = STEPS): Promise<number> {
  step = (step + 1) % STEPS;
  const port = FIRST + step * STEP + (Number(process.env.VITEST_POOL_ID) % STEP);
  try {
    await requireFreePort(port);
    return port;
  } catch (error) {
    if (attempts === 1) throw error;
    return claimPort(attempts - 1);
  }
}
