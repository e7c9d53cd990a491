import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { findDebuggerPort, resolvePort } from '../../../tools/development/port.ts';

it.each([
  [undefined, 3001],
  ['', 3001],
  ['65535', 65_535],
])('the port for %j is %i', (text, port) => {
  expect(resolvePort(text)).toBe(port);
});

it.each(['0', '65536', '80.5', 'http'])('the port cannot be %j', (text) => {
  const message = `PORT must be a whole number from 1 to 65535, not "${text}"`;
  expect(() => resolvePort(text)).toThrow(message);
});

it("the debugger's port is 6228 above or below, or another one if that is in use", async () => {
  expect(await findDebuggerPort(20_001)).toBe(26_229);
  expect(await findDebuggerPort(65_535)).toBe(59_307);
  const server = createServer().listen(26_230, '127.0.0.1');
  await once(server, 'listening');
  expect(await findDebuggerPort(20_002)).toBeLessThan(26_230);
  server.close();
});
