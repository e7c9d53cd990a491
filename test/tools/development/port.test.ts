import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { findDebuggerPort, requireFreePort, resolvePort } from '../../../tools/development/port.ts';

it.each([
  [undefined, undefined, 3001],
  ['', '4000', 4000],
  ['5000', '4000', 5000],
  ['65535', undefined, 65_535],
])('the port is, with %j in the environment and %j in .dev.vars, %i', (environment, vars, port) => {
  expect(resolvePort(environment, vars)).toBe(port);
});

it.each(['0', '65536', '80.5', ' 80'])('the port cannot be %j', (text) => {
  const message = `PORT must be a whole number from 1 to 65535, not "${text}"`;
  expect(() => resolvePort(text, undefined)).toThrow(message);
});

it("the debugger's port is 6228 above, or another one if that is in use or is no port", async () => {
  expect(await findDebuggerPort(20_001)).toBe(26_229);
  const server = createServer().listen(26_230, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  expect(await findDebuggerPort(20_002)).not.toBe(26_230);
  await expect(requireFreePort(26_230)).rejects.toThrow('port 26230 is in use');
  server.close();
  expect(await findDebuggerPort(65_535)).toBeLessThanOrEqual(65_535);
});
