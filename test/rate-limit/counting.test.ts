/**
 * How isolates count a client's requests. A single isolate counts exactly, even if the counter fails,
 * and makes few calls. With a limit of 100, it reports every 8 requests (100 / 12). Once 20 requests
 * (100 / 5) are unacknowledged, each request waits for a permit.
 */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { RateCounter } from '../../src/rate-limit/counter.ts';
import {
  acquirePermit,
  addReport,
  type CounterState,
  type PermitRequest,
  type Report,
} from '../../src/rate-limit/counter-arithmetic.ts';
import { expectError, freshAddress, sendWith } from '../support/http.ts';
import { withMethods } from '../support/interceptor.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;
const BUCKET_MS = 5_000;

let error: MockInstance<typeof console.error>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START });
  error = vi.spyOn(console, 'error').mockReturnValue(undefined);
});

/** Duration of a call to the counter in milliseconds, or the error that the call throws. */
type Behaviour = number | Error;

type Message = Report & { permit: PermitRequest | undefined };

/**
 * Creates a fake counter for one client. It counts like a real counter whose clock is `aheadMs` ahead.
 * `behave` returns the behaviour of a call by its number. The first call has the number 1.
 */
function createCounter(behave: (call: number) => Behaviour = () => 10, aheadMs = 0) {
  const messages: Message[] = [];
  let state: CounterState | undefined;
  async function add(...[, report, permit]: Parameters<RateCounter['add']>) {
    const behaviour = behave(messages.push({ ...report, permit }));
    if (behaviour instanceof Error) throw behaviour;
    const now = Date.now() + aheadMs;
    const { nextState, ...reply } = permit
      ? acquirePermit(state, report, permit, now)
      : addReport(state, report, now);
    state = nextState ?? state;
    await new Promise((resolve) => setTimeout(resolve, behaviour));
    return { ...reply, [Symbol.dispose]: () => {} };
  }
  const idFromName = (name: string) => name;
  const binding = withMethods(env.RATE_COUNTER, { idFromName, get: () => ({ add }) });
  return { messages, binding };
}

/** Returns the reported requests by bucket. Buckets are numbered from the start of the test. */
const getCounts = ({ counts }: Report) =>
  Object.fromEntries([...counts].map(([bucket, count]) => [bucket - START / BUCKET_MS, count]));

const sumCounts = ({ counts }: Report) => counts.values().reduce((sum, count) => sum + count, 0);

/** Creates an isolate that serves one client. `begun` counts the requests that reach its route. */
function createIsolate({ binding }: { binding: Env['RATE_COUNTER'] }, limit = 100) {
  const app = createApp().get('/api/v1/work', (c) => {
    isolate.begun += 1;
    return c.json({});
  });
  const bindings = { ...env, RATE_COUNTER: binding, RATE_LIMIT_DEFAULT: String(limit) };
  const headers = { 'CF-Connecting-IP': freshAddress() };
  const isolate = {
    begun: 0,
    async send(context = createExecutionContext()) {
      const request = new Request('https://api.example.com/api/v1/work', { headers });
      return await app.fetch(request, bindings, context);
    },
  };
  return isolate;
}

type Isolate = ReturnType<typeof createIsolate>;

/** Sends requests concurrently. Advances the clock until all responses have arrived. */
async function sendConcurrently(isolate: Isolate, count: number): Promise<Response[]> {
  const responses = Promise.all(Array.from({ length: count }, () => isolate.send()));
  await vi.advanceTimersByTimeAsync(300);
  return responses;
}

/** Sends requests one after the other, one millisecond apart. */
async function sendSequentially(isolate: Isolate, count: number): Promise<Response[]> {
  const responses: Response[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    const sending = isolate.send();
    await vi.advanceTimersByTimeAsync(1);
    if (isolate.begun <= sent) await vi.advanceTimersByTimeAsync(300);
    responses.push(await sending);
  }
  return responses;
}

const countAdmitted = (responses: readonly Response[]) =>
  responses.filter(({ status }) => status === 200).length;

const unavailable = new Error('out of order');

// test/simulation/rate-limit.ts covers limits of 50 and 400, and every failure of the counter.
it.each([1, 19])('admits exactly %i concurrent requests on one isolate', async (limit) => {
  const isolate = createIsolate(createCounter(), limit);
  expect(countAdmitted(await sendConcurrently(isolate, 2 * limit))).toBe(limit);
  // No rejected request reached its route.
  expect(isolate.begun).toBe(limit);
});

describe('a call to the counter', () => {
  it('reports the total of each bucket in the window under one reporter id', async () => {
    const counter = createCounter();
    const isolate = createIsolate(counter);
    for (let bucket = 0; bucket < 15; bucket += 1) {
      vi.setSystemTime(START + bucket * BUCKET_MS);
      await sendSequentially(isolate, 8);
      await vi.advanceTimersByTimeAsync(20);
    }
    expect(counter.messages.slice(0, 3).map(getCounts)).toEqual([
      { 0: 8 },
      { 0: 8, 1: 8 },
      { 0: 8, 1: 8, 2: 8 },
    ]);
    const buckets = counter.messages.slice(-1).flatMap(({ counts }) => [...counts.keys()]);
    expect(buckets.map((bucket) => bucket - START / BUCKET_MS)).toEqual([
      3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    ]);
    expect(new Set(counter.messages.map(({ record }) => record)).size).toBe(1);
  });

  it('includes pending requests only when it requests a permit', async () => {
    const counter = createCounter((call) => (call > 2 ? 250 : 10));
    const isolate = createIsolate(counter);
    const sent = Array.from({ length: 22 }, () => isolate.send());
    await vi.advanceTimersByTimeAsync(20);
    // Two requests wait. The counter has acknowledged 16, so 10 more are admitted immediately.
    sent.push(...Array.from({ length: 10 }, () => isolate.send()));
    await vi.advanceTimersByTimeAsync(0);
    expect(isolate.begun).toBe(30);
    await vi.advanceTimersByTimeAsync(300);
    await Promise.all(sent);
    await isolate.send();
    const reports = counter.messages.map((message) => [
      sumCounts(message),
      message.permit !== undefined,
    ]);
    expect(reports).toEqual([
      [8, false],
      [16, false],
      [21, true],
      [22, true],
      [24, false],
      [33, false],
    ]);
  });

  it('ignores the smaller counts of a reply that arrives late', async () => {
    const counter = createCounter((call) => (call === 2 ? 200 : 10));
    const [first, second] = [createIsolate(counter), createIsolate(counter)];
    for (const isolate of [second, first, second, first]) await sendSequentially(isolate, 8);
    await vi.advanceTimersByTimeAsync(200);
    expect((await first.send()).headers.get('X-RateLimit-Remaining')).toBe('67');
  });

  it('continues after the response to its request has been sent', async () => {
    const isolate = createIsolate(createCounter());
    const keptAlive: number[] = [];
    const sending = Array.from({ length: 30 }, (_, sent) => {
      const context = createExecutionContext();
      vi.spyOn(context, 'waitUntil').mockImplementation(() => void keptAlive.push(sent));
      return isolate.send(context);
    });
    await vi.advanceTimersByTimeAsync(300);
    await Promise.all(sending);
    // Requests 8 and 16 report. After 20 unacknowledged requests, each request needs a permit.
    expect(keptAlive).toEqual([7, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });
});

describe('a rejected request', () => {
  it('can be retried once enough old buckets have left the window', async () => {
    const counter = createCounter();
    const [first, second] = [createIsolate(counter), createIsolate(counter)];
    await sendConcurrently(first, 10);
    vi.setSystemTime(START + 15_000);
    await sendConcurrently(first, 90);
    // These 20 are admitted without a permit, so 120 are admitted in total.
    await sendConcurrently(second, 20);
    vi.setSystemTime(START + 19_999);
    const { headers } = await second.send();
    expect(headers.get('Retry-After')).toBe('56');
    expect(headers.get('X-RateLimit-Reset')).toBe('56');
    vi.setSystemTime(START + WINDOW_MS + 14_999);
    expect((await second.send()).status).toBe(429);
    vi.setSystemTime(START + WINDOW_MS + 15_000);
    expect((await second.send()).status).toBe(200);
  });

  it('can be retried after one second if the window has room by then', async () => {
    const counter = createCounter(() => 100);
    const [first, second] = [createIsolate(counter), createIsolate(counter)];
    await sendSequentially(first, 100);
    await second.send();
    vi.setSystemTime(START + WINDOW_MS - 50);
    // The last permit is requested 50 ms before the 100 requests leave, and denied 50 ms after.
    const rejected = (await sendConcurrently(second, 20)).at(-1);
    expect(rejected?.status).toBe(429);
    expect(rejected?.headers.get('RateLimit')).toBe('"default";r=0;t=1');
    expect(rejected?.headers.get('Retry-After')).toBe('1');
  });
});

// One isolate's 80 requests leave the window at the bucket boundary. The other isolate's permits are
// denied just before.
it.each([
  [60, 20, 60],
  [90, 9, 71],
])(
  'does not count denied permits of %i and %i requests around a bucket boundary (%i left)',
  async (before, after, left) => {
    const counter = createCounter();
    const [first, second] = [createIsolate(counter), createIsolate(counter)];
    await sendConcurrently(first, 80);
    vi.setSystemTime(START + WINDOW_MS - 1);
    const sent = Array.from({ length: before }, () => second.send());
    await vi.advanceTimersByTimeAsync(1);
    sent.push(...Array.from({ length: after }, () => second.send()));
    await vi.advanceTimersByTimeAsync(300);
    expect(countAdmitted(await Promise.all(sent))).toBe(100 - left);
    expect(countAdmitted(await sendSequentially(first, 100))).toBe(left);
  },
);

it('does not count rejected requests as unacknowledged', async () => {
  const counter = createCounter();
  const [first, second] = [createIsolate(counter), createIsolate(counter)];
  await sendConcurrently(first, 80);
  vi.setSystemTime(START + WINDOW_MS / 2);
  await sendConcurrently(second, 40);
  vi.setSystemTime(START + WINDOW_MS);
  const before = counter.messages.length;
  // 20 requests were admitted, and the counter has acknowledged 16 of them.
  await sendSequentially(second, 15);
  expect(counter.messages.slice(before).filter(({ permit }) => permit)).toEqual([]);
});

// The requests arrive at a bucket boundary. Two buckets are the largest tolerated clock difference.
it.each([-10_000, 10_000])(
  'admits the complete limit on one isolate when the counter is %i ms ahead',
  async (aheadMs) => {
    const isolate = createIsolate(createCounter(undefined, aheadMs));
    expect(countAdmitted(await sendConcurrently(isolate, 150))).toBe(100);
  },
);

// 50 requests arrive before the jump and 300 after it. While the first 50 are in the window, only 50
// more are admitted.
it.each([
  [WINDOW_MS, 150],
  [WINDOW_MS - BUCKET_MS, 100],
  [-10_000, 100],
  [-15_000, 150],
  [-3_600_000, 150],
])('handles a clock jump of %i ms by admitting %i of 350 requests', async (jumpMs, admitted) => {
  const isolate = createIsolate(createCounter());
  await sendSequentially(isolate, 50);
  vi.setSystemTime(Date.now() + jumpMs);
  for (const count of [150, 150]) await sendConcurrently(isolate, count);
  expect(isolate.begun).toBe(admitted);
});

describe('a failing counter', () => {
  it('is retried once a second and logged once', async () => {
    const counter = createCounter(() => unavailable);
    const isolate = createIsolate(counter);
    // The report of the 8th request fails at 7 ms. No later request waits or reports.
    await sendSequentially(isolate, 40);
    expect(counter.messages.map(sumCounts)).toEqual([8]);
    // The 41st request arrives at 1,006 ms, and the 42nd one second after the report.
    vi.setSystemTime(START + 1_006);
    await sendSequentially(isolate, 10);
    expect(counter.messages.map(sumCounts)).toEqual([8, 42]);
    expect(error.mock.calls.map(([line]) => JSON.parse(line).message)).toEqual([
      'rate counter failed',
    ]);
  });

  it('delays requests by 300 ms until it is known to fail', async () => {
    const isolate = createIsolate(createCounter(() => 1_500));
    // The isolate admits 20 unacknowledged requests. The next two wait for a permit.
    await sendSequentially(isolate, 20);
    const waiting = [isolate.send(), isolate.send()];
    await vi.advanceTimersByTimeAsync(299);
    expect(isolate.begun).toBe(20);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(waiting);
    expect(error).toHaveBeenCalledOnce();
    // No other request waits.
    await sendSequentially(isolate, 40);
    expect(isolate.begun).toBe(62);
  });

  it('is still considered failing in the next window', async () => {
    const counter = createCounter(() => 2 * WINDOW_MS);
    const isolate = createIsolate(counter);
    // Requests 8 and 16 send reports, which get no reply.
    await sendSequentially(isolate, 20);
    vi.setSystemTime(START + WINDOW_MS);
    const sending = Array.from({ length: 30 }, () => isolate.send());
    await vi.advanceTimersByTimeAsync(0);
    // If the counter were not considered failing, the 21st request would wait. The first request retries it.
    expect(isolate.begun).toBe(20 + 30);
    expect(counter.messages.map(sumCounts)).toEqual([8, 16, 1]);
    await Promise.all(sending);
  });

  it('causes a 429 with Retry-After 1 when it is overloaded', async () => {
    const busy = Object.assign(new Error('busy'), { overloaded: true });
    const isolate = createIsolate(
      createCounter((call) => (call > 1 ? busy : 10)),
      5,
    );
    // With a limit of 5, one request can be unacknowledged, so the second and third need permits.
    await sendConcurrently(isolate, 1);
    vi.setSystemTime(START + WINDOW_MS - BUCKET_MS);
    const rejected = (await sendConcurrently(isolate, 2)).at(-1);
    expect(rejected?.headers.get('Retry-After')).toBe('1');
    expect(rejected?.headers.get('RateLimit')).toBe('"default";r=0;t=1');
    const { message } = await expectError(rejected ?? new Response(), 429, 'rate_limit_exceeded');
    expect(message).toBe('Too many requests at once. Retry in 1 s.');
    vi.setSystemTime(START + WINDOW_MS);
    // Rejected requests do not count, so their bucket is not the oldest one.
    expect((await isolate.send()).headers.get('X-RateLimit-Reset')).toBe('60');
  });
});

it('names a counter by the HMAC of the address with the first value of API_KEY', async () => {
  vi.useRealTimers();
  const idFromName = vi.fn((name: string) => name);
  const RATE_COUNTER = withMethods(createCounter().binding, { idFromName });
  for (const [API_KEY, address] of [
    ['first,second', '203.0.113.7'],
    ['first', '203.0.113.8'],
    ['second', '203.0.113.7'],
    ['', '203.0.113.7'],
  ] as const) {
    const headers = { 'CF-Connecting-IP': address };
    const changes = { API_KEY, RATE_COUNTER, RATE_LIMIT_DEFAULT: '1' } as Partial<Env>;
    await sendWith(changes, '/api/none', { headers });
  }
  const [[firstName] = [], ...others] = idFromName.mock.calls;
  // printf 203.0.113.7 | openssl dgst -sha256 -hmac first
  expect(firstName).toBe('f8112e9c027dbf086741128193dd8bcf4436bfe4422dc1fbd7845224b24d187e');
  expect(new Set([firstName, ...others.flat()]).size).toBe(4);
});

it('places counters in the configured jurisdiction, except in development', async () => {
  vi.useRealTimers();
  const jurisdiction = vi.fn(() => createCounter().binding);
  const RATE_COUNTER = withMethods(createCounter().binding, { jurisdiction });
  const vars = { RATE_COUNTER, JURISDICTION: 'eu', RATE_LIMIT_DEFAULT: '1' } as const;
  const response = await sendWith(vars, '/api/health/detailed');
  expect(await response.json()).toMatchObject({ status: 'ok' });
  expect(jurisdiction.mock.calls).toEqual([['eu'], ['eu']]);
  // The local runtime does not support jurisdictions.
  await sendWith({ ...vars, ENVIRONMENT: 'development' }, '/api/none');
  expect(jurisdiction).toHaveBeenCalledTimes(2);
});
