import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  findDebuggerPort,
  formatOrigin,
  parseHost,
  requireFree,
  resolvePort,
} from '../../../tools/development/port.ts';

it.each([
  [undefined, 3001],
  ['', 3001],
  ['65535', 65_535],
])('reads PORT %j as %i', (text, port) => {
  expect(resolvePort(text)).toBe(port);
});

it.each(['0', '65536', '80.5', 'http'])('rejects PORT %j', (text) => {
  const message = `PORT must be a whole number from 1 to 65535, not "${text}"`;
  expect(() => resolvePort(text)).toThrow(message);
});

describe('findDebuggerPort', () => {
  it.each([
    [20_001, 26_229],
    [65_535, 59_307],
  ])('returns a port that is 6228 away: %i → %i', async (servicePort, port) => {
    expect(await findDebuggerPort(servicePort)).toBe(port);
  });

  it('returns a lower port if the default one is in use', async () => {
    const server = createServer().listen(26_230, '127.0.0.1');
    await once(server, 'listening');
    expect(await findDebuggerPort(20_002)).toBeLessThan(26_230);
    server.close();
  });
});

it.each(['127.0.0.1', '192.168.1.20', '0.0.0.0', '::1'])('accepts the host %s', (host) => {
  expect(parseHost(host)).toBe(host);
});

it.each(['phone', '', '192.168.1', '192.168.1.20:3001', '*'])('rejects the host %j', (host) => {
  expect(() => parseHost(host)).toThrow(`--host ${JSON.stringify(host)} is not an IP address.`);
});

it('rejects an address that does not belong to this machine', async () => {
  // RFC 5737 reserves this address for documentation.
  const listening = requireFree('203.0.113.1', 20_003);
  await expect(listening).rejects.toThrow('--host 203.0.113.1 is not an address of this machine');
});

it.each([
  ['127.0.0.1', 'http://localhost:3001'],
  ['0.0.0.0', 'http://localhost:3001'],
  ['::', 'http://localhost:3001'],
  ['::1', 'http://[::1]:3001'],
  ['192.168.1.20', 'http://192.168.1.20:3001'],
])('formats the origin of the host %s as %s', (host, origin) => {
  expect(formatOrigin(host, 3001)).toBe(origin);
});
