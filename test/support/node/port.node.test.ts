/** The ports of the programs that tests start: ../support/node/port.ts. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { claimPort } from './port.ts';

describe('a port for a program', () => {
  it('is given once, to one process only', async () => {
    const first = await claimPort(100);
    expect(await claimPort(100)).toBeGreaterThan(first);
    const ports = await Promise.all(Array.from({ length: 20 }, () => claimPort(100)));
    expect(new Set([first, ...ports]).size).toBe(21);
  });

  it('is not in use', async () => {
    const port = await claimPort(200);
    const server = createServer().listen(port + 1, '127.0.0.1');
    await once(server, 'listening');
    expect(await claimPort(port + 1 - 21_000)).toBeGreaterThan(port + 1);
    server.close();
  });

  it('is below the ports of outgoing connections, and so is its debugger, 6,228 above it', async () => {
    // The last port, and the port after it.
    for (const start of [0, 5_199, 5_199]) {
      const port = await claimPort(start);
      expect(port).toBeGreaterThanOrEqual(21_000);
      expect(port + 6_228).toBeLessThan(32_768);
      expect(port).toBeLessThan(26_200);
    }
  });
});
