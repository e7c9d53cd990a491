/** The limit when its counter fails, stalls or is overloaded, and how little it asks of it. */

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
const refused = { granted: 0, left: 0, resetMs: 12_345, window: 1, ...disposable };
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
  ['GET', '/api/none', 404],
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

  it('is refused for a second when the counter is overloaded', async () => {
    const response = await sendWith(counterThat(fails({ overloaded: true })).changes, path, {
      method,
    });
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

  it('that is refused does not wait for its handler', async () => {
    const app = createApp().get('/api/v1/work', never);
    const response = await sendWith(counterThat(() => refused).changes, '/api/v1/work', {}, app);
    await expectError(response, 429, 'rate_limit_exceeded');
  });

  it('that is refused after its handler has answered keeps nothing of this answer', async () => {
    const { changes } = counterThat(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return refused;
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
  let worked = false;
  const app = createApp().on(method, '/api/v1/work', (c) => {
    worked = true;
    return c.json({});
  });
  const response = await sendWith(
    counterThat(() => refused).changes,
    '/api/v1/work',
    { method },
    app,
  );
  await expectError(response, 429, 'rate_limit_exceeded');
  expect(worked).toBe(false);
});

describe('a client known to be over its limit', () => {
  const headers = { 'CF-Connecting-IP': freshAddress() };

  it('is refused without waking its object until the window resets', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { calls, changes } = counterThat(() => refused);
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
    vi.setSystemTime(Date.now() + 7_345);
    await sendWith(changes, '/api/none', { headers }, app);
    expect(calls).toHaveLength(2);
  });

  it('may still use the other counter, and other clients may use theirs', async () => {
    const { changes } = counterThat((counter) => (counter === 'default' ? refused : allowed));
    const app = createApp();
    await sendWith(changes, '/api/none', { headers }, app);
    const ingest = await sendWith(
      changes,
      '/api/public/events/ingest',
      { method: 'POST', headers },
      app,
    );
    expect(ingest.headers.get('RateLimit')).toBe('"ingest";r=98;t=13');
  });
});

it('the wait of each of many requests is given to waitUntil, so that it outlives its request', async () => {
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

describe('a slow answer', () => {
  const headers = { 'CF-Connecting-IP': freshAddress() };

  it('that refuses is remembered until its window ends, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const start = Date.now();
    const { calls, changes } = counterThat(() => {
      if (calls.length === 1) vi.setSystemTime(start + 500);
      return calls.length === 1 ? refused : { ...allowed, window: 2 };
    });
    const app = createApp();
    const first = await sendWith(changes, '/api/none', { headers }, app);
    await expectError(first, 429, 'rate_limit_exceeded');
    vi.setSystemTime(start + 12_344);
    const early = await sendWith(changes, '/api/none', { headers }, app);
    expect([early.status, early.headers.get('Retry-After')]).toEqual([429, '1']);
    vi.setSystemTime(start + 12_345);
    await expectStatus(await sendWith(changes, '/api/none', { headers }, app), 404);
    expect(calls).toHaveLength(2);
  });

  it('that grants is spent until its window ends, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const start = Date.now();
    const { calls, changes } = counterThat(() => {
      if (calls.length === 1) vi.setSystemTime(start + 500);
      return { ...allowed, granted: 4, left: 96, window: calls.length };
    });
    const app = createApp();
    const told: (string | null)[] = [];
    for (const at of [500, 12_344, 12_345]) {
      vi.setSystemTime(start + (told.length === 0 ? 0 : at));
      const response = await sendWith(changes, '/api/none', { headers }, app);
      told.push(response.headers.get('RateLimit'));
    }
    expect(told).toEqual(['"default";r=99;t=13', '"default";r=98;t=1', '"default";r=99;t=13']);
    expect(calls).toHaveLength(2);
  });
});
