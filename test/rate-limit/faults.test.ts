/** The limit when its counter fails, stalls or is overloaded, and the few calls that it makes. */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { callWith, expectError, expectStatus, freshAddress, sendWith } from '../support/http.ts';

const LIST = '/api/v1/web/properties';
type Answer = (counter: string, limit: number, wanted: number, remembered?: object) => unknown;

/** A binding whose objects answer with `answer`; it records their calls. */
function counterThat(answer: Answer) {
  const calls: Parameters<Answer>[] = [];
  const stub = {
    async grant(...request: Parameters<Answer>) {
      calls.push(request);
      return answer(...request);
    },
  };
  const binding = { idFromName: (name: string) => name, get: () => stub };
  // It has only the method that the limit calls: a call of another one is a fault of the test.
  return { calls, changes: { RATE_COUNTER: binding as unknown as Env['RATE_COUNTER'] } };
}

/** Marks a result as the platform marks one of another isolate. */
const disposable = { [Symbol.dispose]: () => {} };
const allowed = { granted: 4, left: 95, resetMs: 12_345, window: 1, ...disposable };
const full = { granted: 0, left: 0, resetMs: 12_345, window: 1, ...disposable };
const never = () => new Promise<never>(() => {});

function fails(properties: object = {}): Answer {
  return () => {
    throw Object.assign(new Error('secret of the counter'), properties);
  };
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.each([
  ['GET', '/api/health', 200],
  ['POST', '/api/none', 404],
])('%s %s', (method, path, status) => {
  it.each([
    ['fails', fails()],
    ['stalls', never],
  ])('is served without headers, and logged, when the counter %s', async (_, hit) => {
    const log = vi.spyOn(console, 'error');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const called = callWith(counterThat(hit).changes, path, { method }, createApp());
    await vi.advanceTimersByTimeAsync(1_000);
    const { response } = await called;
    await expectStatus(response, status);
    const told = [...response.headers.keys()].filter((name) => name.includes('ratelimit'));
    expect(told).toEqual([]);
    expect(log).toHaveBeenCalledOnce();
    expect(log.mock.calls[0]?.[0]).toContain('rate counter failed');
  });

  it('is rejected for a second when the counter is overloaded', async () => {
    const { changes } = counterThat(fails({ overloaded: true }));
    const response = await sendWith(changes, path, { method });
    expect(response.headers.get('Retry-After')).toBe('1');
    expect(response.headers.get('RateLimit')).toBe('"default";r=0;t=1');
    const { message } = await expectError(response, 429, 'rate_limit_exceeded');
    expect(message).toBe('Too many requests at once. Retry in 1 s.');
  });
});

describe('a read', () => {
  it('runs while it is counted', async () => {
    const order: string[] = [];
    const work = Promise.withResolvers<void>();
    const { changes } = counterThat(async () => {
      order.push('counting');
      await work.promise;
      order.push('counted');
      return allowed;
    });
    const app = createApp().get('/api/v1/work', (c) => {
      order.push('worked');
      work.resolve();
      return c.json({});
    });
    const response = await sendWith(changes, '/api/v1/work', {}, app);
    expect(order).toEqual(['counting', 'worked', 'counted']);
    expect(response.headers.get('RateLimit')).toBe('"default";r=98;t=13');
  });

  it('that is rejected does not wait for its handler', async () => {
    const app = createApp().get('/api/v1/work', never);
    const response = await sendWith(counterThat(() => full).changes, '/api/v1/work', {}, app);
    await expectError(response, 429, 'rate_limit_exceeded');
  });

  it('that is rejected after its handler has responded keeps nothing of this response', async () => {
    const { changes } = counterThat(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return full;
    });
    const response = await sendWith(changes, LIST);
    expect(response.headers.get('ETag')).toBeNull();
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(response.headers.get('Retry-After')).toBe('13');
    await expectError(response, 429, 'rate_limit_exceeded');
  });
});

it.each(['POST', 'PUT', 'DELETE'])('a %s does not run before it is counted', async (method) => {
  const work = vi.fn();
  const app = createApp().on(method, '/api/v1/work', (c) => {
    work();
    return c.json({});
  });
  const { changes } = counterThat(() => full);
  const response = await sendWith(changes, '/api/v1/work', { method }, app);
  await expectError(response, 429, 'rate_limit_exceeded');
  expect(work).not.toHaveBeenCalled();
});

it('a client over its limit is rejected without waking its object until the window resets', async () => {
  const headers = { 'CF-Connecting-IP': freshAddress() };
  vi.useFakeTimers({ toFake: ['Date'] });
  const { calls, changes } = counterThat((counter) => (counter === 'default' ? full : allowed));
  const app = createApp();
  await sendWith(changes, '/api/none', { headers }, app);
  expect(calls).toEqual([['default', 100, 4, undefined]]);
  vi.setSystemTime(Date.now() + 5_000);
  const again = await sendWith(changes, '/api/none', { headers }, app);
  expect(again.headers.get('RateLimit')).toBe('"default";r=0;t=8');
  expect(again.headers.get('RateLimit-Policy')).toBe('"default";q=100;w=60');
  expect(again.headers.get('Retry-After')).toBe('8');
  await expectError(again, 429, 'rate_limit_exceeded');
  expect(calls).toHaveLength(1);
  const post = { method: 'POST', headers };
  const ingest = await sendWith(changes, '/api/public/events/ingest', post, app);
  expect(ingest.headers.get('RateLimit')).toBe('"ingest";r=98;t=13');
  vi.setSystemTime(Date.now() + 7_345);
  await sendWith(changes, '/api/none', { headers }, app);
  expect(calls).toHaveLength(3);
});

it('the wait of each of many requests outlives its request', async () => {
  const gate = Promise.withResolvers<void>();
  const { changes } = counterThat(async () => {
    await gate.promise;
    return { ...allowed, granted: 40 };
  });
  const app = createApp();
  const headers = { 'CF-Connecting-IP': freshAddress() };
  const answers = Array.from({ length: 30 }, () => {
    const ctx = createExecutionContext();
    const outlives = vi.spyOn(ctx, 'waitUntil');
    const request = new Request('https://api.example.com/api/none', { headers });
    const answer = app.fetch(request, { ...env, ...changes }, ctx);
    // The platform cancels a promise that waitUntil does not hold.
    expect(outlives).toHaveBeenCalled();
    return answer;
  });
  gate.resolve();
  for (const answer of await Promise.all(answers)) await expectStatus(answer, 404);
});

it.each(['eu', 'us', 'fedramp'] as const)(
  'the counters are in the jurisdiction %s where the var says so, and also for health',
  async (JURISDICTION) => {
    const asked: string[] = [];
    const { calls, changes } = counterThat(() => allowed);
    const binding = {
      jurisdiction: (name: string) => {
        asked.push(name);
        return changes.RATE_COUNTER;
      },
    };
    const RATE_COUNTER = binding as unknown as Env['RATE_COUNTER'];
    const response = await sendWith({ RATE_COUNTER, JURISDICTION }, '/api/health/detailed');
    await expectStatus(response, 200);
    expect(response.headers.get('RateLimit')).toBe('"default";r=98;t=13');
    expect(await response.json()).toMatchObject({ status: 'ok' });
    expect(asked).toEqual([JURISDICTION, JURISDICTION]);
    expect(calls).toHaveLength(2);
  },
);

it('the counters of a developer are in no jurisdiction: the local runtime knows none', async () => {
  const response = await sendWith({ ENVIRONMENT: 'development', JURISDICTION: 'eu' }, '/api/none');
  expect(response.headers.get('RateLimit')).toContain('"default";r=');
});

it.each([
  ['rejects', full, [null, '"default";r=0;t=1', '"default";r=98;t=13']],
  ['grants', allowed, ['"default";r=98;t=13', '"default";r=97;t=1', '"default";r=98;t=13']],
])('a slow answer that %s counts until its window ends, and no longer', async (_, answer, told) => {
  const headers = { 'CF-Connecting-IP': freshAddress() };
  vi.useFakeTimers({ toFake: ['Date'] });
  const start = Date.now();
  const { calls, changes } = counterThat(() => {
    if (calls.length === 1) vi.setSystemTime(start + 500);
    return calls.length === 1 ? answer : { ...allowed, window: 2 };
  });
  const app = createApp();
  for (const [index, at] of [0, 12_344, 12_345].entries()) {
    vi.setSystemTime(start + at);
    const { headers: sent } = await sendWith(changes, '/api/none', { headers }, app);
    if (told[index] !== null) expect(sent.get('RateLimit')).toBe(told[index]);
  }
  expect(calls).toHaveLength(2);
});
