/** The ports of the programs that tests start: ../support/node/port.ts. */

import { expect, it } from 'vitest';
import { claimPort } from '../support/node/port.ts';

it('are given once each, and below those of outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 40 }, claimPort));
  expect(new Set(ports).size).toBe(40);
  // A debugger listens 6,228 above its service.
  for (const port of ports) expect(port + 6_228).toBeLessThan(32_768);
});
