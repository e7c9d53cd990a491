/**
 * Ports for the programs that tests start. They are below the ports that the system gives to outgoing connections
 * (32768 and above), so that no connection takes a port before its program listens.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { requireFreePort } from '../../../tools/development/port.ts';

/** `dev` adds 6,228 for its debugger: these lie below 32768 too, and none is another service's port. */
const FIRST = 21_000;
const LAST = 26_199;
const COUNT = LAST - FIRST + 1;

/**
 * Returns a free port that no other test of this run has had, or will have. The search begins at `start`:
 * another run on this machine most likely begins elsewhere.
 */
export async function claimPort(start = Math.floor(Math.random() * COUNT)): Promise<number> {
  const directory = join(inject('runDirectory'), 'ports');
  mkdirSync(directory, { recursive: true });
  for (let step = 0; step < COUNT; step += 1) {
    const port = FIRST + ((start + step) % COUNT);
    if (isClaimed(join(directory, String(port))) && (await isFree(port))) return port;
  }
  throw new Error('every port has been used');
}

/** Makes the file of a port, unless another test has. */
function isClaimed(file: string): boolean {
  try {
    writeFileSync(file, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isFree(port: number): Promise<boolean> {
  return requireFreePort(port).then(
    () => true,
    () => false,
  );
}
