import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { findDebuggerPort, portOf } from '../../../tools/development/port.ts';

describe('the port of the service', () => {
  it.each([
    [undefined, undefined, 3001],
    ['', '', 3001],
    [undefined, '4000', 4000],
    ['5000', '4000', 5000],
    ['65535', undefined, 65_535],
  ])('is, with %j in the environment and %j in .dev.vars, %i', (environment, devVars, port) => {
    expect(portOf(environment, devVars)).toBe(port);
  });

  it.each(['0', '65536', '-1', '80.5', '1e3', 'http', ' 80'])('cannot be %j', (text) => {
    expect(() => portOf(text, undefined)).toThrow(
      `PORT must be a whole number from 1 to 65535, not "${text}"`,
    );
  });
});

describe('the port of the debugger', () => {
  it('is 6228 above the port of the service', async () => {
    expect([9_229, await findDebuggerPort(3_001)]).toContain(9_229);
    expect(await findDebuggerPort(20_001)).toBe(26_229);
  });

  it('is another port when this one is in use, or is no port', async () => {
    const server = createServer().listen(26_230, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await findDebuggerPort(20_002)).not.toBe(26_230);
    server.close();
    expect(await findDebuggerPort(65_535)).toBeLessThanOrEqual(65_535);
  });
});
