/** Named keys with their own rate limit. */

import { env } from 'cloudflare:workers';
import { beforeEach, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { RateCounter } from '../../src/rate-limit/counter.ts';
import { expectError, expectStatus, freshAddress, sendWith } from '../support/http.ts';
import { withMethods } from '../support/interceptor.ts';
import { namedKey } from '../support/keys.ts';
import { watchLog } from '../support/log.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const LIST = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';

const site = await namedKey('marketing-site', ['feed:read']);
const small = await namedKey('small-site', ['feed:read']);
const plain = await namedKey('plain', ['feed:read']);
const old = await namedKey('old-site', ['feed:read'], '2020-02-29');
const API_KEYS = [
  { ...site.entry, rate_limit: 6_000 },
  { ...small.entry, rate_limit: 3 },
  plain.entry,
  { ...old.entry, rate_limit: 6_000 },
];

let app: ReturnType<typeof createApp>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00Z') });
  app = createApp();
});

/** Sends a request with a key. By default, each request comes from a new address. */
function request(key: string, path = LIST, { address = freshAddress(), method = 'GET' } = {}) {
  const headers = { 'x-api-key': key, 'CF-Connecting-IP': address };
  return sendWith({ API_KEYS }, path, { method, headers }, app);
}

it("counts a key's requests from all addresses and to all routes together", async () => {
  const responses = [
    await request(site.key),
    await request(site.key, INGEST, { method: 'POST' }),
    await request(site.key, '/api/health'),
    await request(site.key, '/api/none'),
  ];
  expect(responses.map(({ status }) => status)).toEqual([200, 403, 200, 404]);
  for (const [index, { headers }] of responses.entries()) {
    const remaining = 5_999 - index;
    expect(headers.get('X-RateLimit-Limit')).toBe('6000');
    expect(headers.get('X-RateLimit-Remaining')).toBe(`${remaining}`);
    expect(headers.get('RateLimit-Policy')).toBe(`"marketing-site";q=6000;w=${WINDOW_SECONDS}`);
    expect(headers.get('RateLimit')).toBe(`"marketing-site";r=${remaining};t=${WINDOW_SECONDS}`);
  }
});

it('keeps the limit of a key separate from the limits of its address and of other keys', async () => {
  const lines = watchLog('log');
  const address = freshAddress();
  for (const key of [small.key, small.key, small.key]) {
    await expectStatus(await request(key, LIST, { address }), 200);
  }
  const error = await expectError(
    await request(small.key, LIST, { address }),
    429,
    'rate_limit_exceeded',
  );
  expect(error.message).toMatch(/^More than 3 requests in 60 seconds\. Retry in \d+ s\.$/);
  expect(lines().at(-1)).toMatchObject({ caller: 'small-site' });
  const { headers } = await request(plain.key, LIST, { address });
  expect(headers.get('RateLimit')).toBe(`"default";r=99;t=${WINDOW_SECONDS}`);
  const otherKey = await request(site.key, LIST, { address });
  expect(otherKey.headers.get('X-RateLimit-Remaining')).toBe('5999');
});

it.each([
  ['an unknown key', 'epf_marketing-site_invented'],
  ['an expired key', old.key],
  ['an empty key', ''],
])('counts the address instead of the key for %s', async (_, key) => {
  const response = await request(key);
  await expectStatus(response, 401);
  expect(response.headers.get('RateLimit-Policy')).toBe(`"default";q=100;w=${WINDOW_SECONDS}`);
  expect(response.headers.get('X-RateLimit-Remaining')).toBe('99');
});

it("reports a key's count every 25 requests, with at most 60 unacknowledged", async () => {
  const reports: [name: string, count: number][] = [];
  const reply = Promise.withResolvers<never>();
  const get = (name: string) => ({
    add(...[, { counts }]: Parameters<RateCounter['add']>) {
      reports.push([name, counts.values().reduce((sum, count) => sum + count, 0)]);
      return reply.promise;
    },
  });
  const RATE_COUNTER = withMethods(env.RATE_COUNTER, { idFromName: (name: string) => name, get });
  const headers = { 'x-api-key': site.key };
  const sent = Array.from({ length: 61 }, () =>
    sendWith({ API_KEYS, RATE_COUNTER }, '/api/health', { headers }, app),
  );
  const expected = [25, 50, 61].map((count) => ['key marketing-site', count]);
  await vi.waitFor(() => expect(reports).toEqual(expected));
  reply.reject(new Error('out of order'));
  await Promise.all(sent);
});
