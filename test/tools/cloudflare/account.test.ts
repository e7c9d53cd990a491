/** Tests of the client for Cloudflare's API, including its throttle. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { describeCause, openAccount } from '../../../tools/cloudflare/account.ts';
import { ACCOUNT_ID, FakeCloudflare } from '../../support/cloudflare/fake-cloudflare.ts';
import { FakeClock } from '../../support/node/fake-clock.ts';
import { ProjectCopy } from '../../support/node/project-copy.ts';

let cloudflare: FakeCloudflare;
let clock: FakeClock;
beforeEach(async () => {
  cloudflare = await new FakeCloudflare().start();
  clock = new FakeClock(Date.parse('2026-11-27T14:00:00'));
  cloudflare.now = clock.now;
});
afterEach(() => {
  vi.restoreAllMocks();
  cloudflare.stop();
});

async function call(times: number): Promise<void> {
  const account = await openAccount(ACCOUNT_ID, [1, 1, 1, 1], clock);
  for (let n = 0; n < times; n += 1)
    await account.call(z.array(z.unknown()), 'GET', '/d1/database');
}

it('sends up to 190 calls per minute without a pause', async () => {
  await call(190);
  expect(clock.sleptMs).toBe(0);
  await call(400);
  expect(cloudflare.requests).toHaveLength(590);
  // The second client sends 190 calls in each of the first two minutes, and the rest in the third.
  expect(clock.sleptMs).toBe(2 * 60_000);
});

it('waits until Cloudflare unblocks the user', async () => {
  const print = vi.spyOn(console, 'error').mockReturnValue();
  cloudflare.count(1_200);
  await call(3);
  expect(clock.sleptMs).toBe(300_000);
  expect(print.mock.calls).toEqual([
    ['Cloudflare: a fault [code: 10001]. Waiting until 14:05:00, then continuing.'],
  ]);
});

it('waits for the time in Retry-After', async () => {
  const print = vi.spyOn(console, 'error').mockReturnValue();
  cloudflare.fault = () => (clock.sleptMs === 0 ? { status: 429, retryAfter: '90' } : undefined);
  await call(1);
  expect(clock.sleptMs).toBe(90_000);
  expect(print.mock.lastCall?.[0]).toContain('Waiting until 14:01:30, then');
});

it('sends the credentials in .env through the proxy in HTTP_PROXY', async () => {
  const requests: string[] = [];
  const proxy = createServer((request, response) => {
    requests.push(`${request.headers.host}${request.url} ${request.headers.authorization}`);
    response.writeHead(403).end('{"errors":[{"code":10000,"message":"Authentication error"}]}');
  }).on('connect', (_request, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    proxy.emit('connection', socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const project = new ProjectCopy();
  project.write('.env', 'CLOUDFLARE_API_TOKEN=of-the-file\nCLOUDFLARE_ACCOUNT_ID=f00d\n');
  vi.stubEnv('CLOUDFLARE_API_TOKEN', undefined);
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', undefined);
  vi.stubEnv('CLOUDFLARE_API_BASE_URL', 'http://api.cloudflare.test/client/v4');
  vi.stubEnv('HTTP_PROXY', `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const { stderr } = await project.run('operations.ts', '--remote');
  expect(stderr).toContain('Authentication error [code: 10000]');
  expect(requests).toEqual([
    expect.stringMatching(
      /^api\.cloudflare\.test\/client\/v4\/accounts\/f00d\/d1\/database\S* Bearer of-the-file$/,
    ),
  ]);
  proxy.closeAllConnections();
  proxy.close();
  await project.remove();
});

describe('describeCause', () => {
  it.each([
    ['ECONNREFUSED', new TypeError('fetch failed', { cause: withCode('connect', 'ECONNREFUSED') })],
    [
      'Proxy response (403)',
      new TypeError('fetch failed', {
        cause: new Error('cancelled', {
          cause: withCode('Proxy response (403)', 'UND_ERR_ABORTED'),
        }),
      }),
    ],
    ['offline', new Error('offline')],
  ])('returns %s', (reason, error) => {
    expect(describeCause(error)).toBe(reason);
  });
});

function withCode(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}
