/**
 * How isolates count: exactly for a client of one isolate, whatever its counter does, and in few
 * calls. With the limit of 100, an isolate reports each 8 requests (100 / 12), and from 20
 * unconfirmed requests on (100 / 5), each request asks for a place.
 */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { RateCounter } from '../../src/rate-limit/counter.ts';
import {
  addReport,
  askForPlace,
  type CounterState,
  type Place,
  type Report,
} from '../../src/rate-limit/counter-arithmetic.ts';
import { expectError, freshAddress, sendWith } from '../support/http.ts';
import { withMethods } from '../support/tap.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;
const SPAN_MS = 5_000;

let error: MockInstance<typeof console.error>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START });
  error = vi.spyOn(console, 'error').mockReturnValue(undefined);
});

/** What a counter does with a call: it takes this time, or fails. */
type Fate = number | Error;

type Message = Report & { place: Place | undefined };

/**
 * The counter of one client, which adds up as the real one does, by a clock that is ahead by
 * `aheadMs`. `fateOf` decides on each call.
 */
function counterWith(fateOf: (call: number) => Fate = () => 10, aheadMs = 0) {
  const messages: Message[] = [];
  let last: CounterState | undefined;
  async function add(...[, report, place]: Parameters<RateCounter['add']>) {
    const fate = fateOf(messages.push({ ...report, place }));
    if (fate instanceof Error) throw fate;
    const now = Date.now() + aheadMs;
    const { changed, ...reply } = place
      ? askForPlace(last, report, place, now)
      : addReport(last, report, now);
    last = changed ?? last;
    await new Promise((resolve) => setTimeout(resolve, fate));
    return { ...reply, [Symbol.dispose]: () => {} };
  }
  const idFromName = (name: string) => name;
  const binding = withMethods(env.RATE_COUNTER, { idFromName, get: () => ({ add }) });
  return { messages, binding };
}

/** The requests in a message of each span after the start. */
const countsIn = ({ counts }: Report) =>
  Object.fromEntries([...counts].map(([span, count]) => [span - START / SPAN_MS, count]));

const totalIn = ({ counts }: Report) => counts.values().reduce((sum, count) => sum + count, 0);

/** An isolate that serves one client. Its route counts the requests that have begun. */
function isolateOf({ binding }: { binding: Env['RATE_COUNTER'] }, limit = 100) {
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

type Isolate = ReturnType<typeof isolateOf>;

/** Sends requests at once, and lets time pass until all have a response. */
async function sendAtOnce(isolate: Isolate, count: number): Promise<Response[]> {
  const responses = Promise.all(Array.from({ length: count }, () => isolate.send()));
  await vi.advanceTimersByTimeAsync(300);
  return responses;
}

/** Sends requests one after the other, a millisecond apart. */
async function sendInTurn(isolate: Isolate, count: number): Promise<Response[]> {
  const responses: Response[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    const sending = isolate.send();
    await vi.advanceTimersByTimeAsync(1);
    if (isolate.begun <= sent) await vi.advanceTimersByTimeAsync(300);
    responses.push(await sending);
  }
  return responses;
}

const passedOf = (responses: readonly Response[]) =>
  responses.filter(({ status }) => status === 200).length;

const outOfOrder = new Error('out of order');

// test/simulation/rate-limit.ts has limits of 50 and 400, and every fault of the counter.
it.each([1, 19])('a client of one isolate gets exactly its limit of %i at once', async (limit) => {
  const isolate = isolateOf(counterWith(), limit);
  expect(passedOf(await sendAtOnce(isolate, 2 * limit))).toBe(limit);
  // No rejected request has begun.
  expect(isolate.begun).toBe(limit);
});

describe('the calls of the counter', () => {
  it('carry the counts so far of each span in the window, under one record', async () => {
    const counter = counterWith();
    const isolate = isolateOf(counter);
    for (let span = 0; span < 15; span += 1) {
      vi.setSystemTime(START + span * SPAN_MS);
      await sendInTurn(isolate, 8);
      await vi.advanceTimersByTimeAsync(20);
    }
    expect(counter.messages.slice(0, 3).map(countsIn)).toEqual([
      { 0: 8 },
      { 0: 8, 1: 8 },
      { 0: 8, 1: 8, 2: 8 },
    ]);
    const spans = counter.messages.slice(-1).flatMap(({ counts }) => [...counts.keys()]);
    expect(spans.map((span) => span - START / SPAN_MS)).toEqual([
      3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    ]);
    expect(new Set(counter.messages.map(({ record }) => record)).size).toBe(1);
  });

  it('have the requests that wait only if they are for a place', async () => {
    const counter = counterWith((call) => (call > 2 ? 250 : 10));
    const isolate = isolateOf(counter);
    const sent = Array.from({ length: 22 }, () => isolate.send());
    await vi.advanceTimersByTimeAsync(20);
    // Two wait. The counter has confirmed 16, so that 10 others pass at once.
    sent.push(...Array.from({ length: 10 }, () => isolate.send()));
    await vi.advanceTimersByTimeAsync(0);
    expect(isolate.begun).toBe(30);
    await vi.advanceTimersByTimeAsync(300);
    await Promise.all(sent);
    await isolate.send();
    const reports = counter.messages.map((each) => [totalIn(each), each.place !== undefined]);
    expect(reports).toEqual([
      [8, false],
      [16, false],
      [21, true],
      [22, true],
      [24, false],
      [33, false],
    ]);
  });

  it('may get replies out of order: the smaller counts of others are old', async () => {
    const counter = counterWith((call) => (call === 2 ? 200 : 10));
    const [one, other] = [isolateOf(counter), isolateOf(counter)];
    for (const isolate of [other, one, other, one]) await sendInTurn(isolate, 8);
    await vi.advanceTimersByTimeAsync(200);
    expect((await one.send()).headers.get('X-RateLimit-Remaining')).toBe('67');
  });

  it('outlive their requests', async () => {
    const isolate = isolateOf(counterWith());
    const held: number[] = [];
    const sending = Array.from({ length: 30 }, (_, sent) => {
      const context = createExecutionContext();
      vi.spyOn(context, 'waitUntil').mockImplementation(() => void held.push(sent));
      return isolate.send(context);
    });
    await vi.advanceTimersByTimeAsync(300);
    await Promise.all(sending);
    // The 8th and the 16th request report. After 20, which are unconfirmed, each one asks.
    expect(held).toEqual([7, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });
});

describe('a rejected request', () => {
  it('may retry when enough of the oldest spans have left for a request to pass', async () => {
    const counter = counterWith();
    const [one, other] = [isolateOf(counter), isolateOf(counter)];
    await sendAtOnce(one, 10);
    vi.setSystemTime(START + 15_000);
    await sendAtOnce(one, 90);
    // They pass unconfirmed, so that 120 have passed.
    await sendAtOnce(other, 20);
    vi.setSystemTime(START + 19_999);
    const { headers } = await other.send();
    expect(headers.get('Retry-After')).toBe('56');
    expect(headers.get('X-RateLimit-Reset')).toBe('56');
    vi.setSystemTime(START + WINDOW_MS + 14_999);
    expect((await other.send()).status).toBe(429);
    vi.setSystemTime(START + WINDOW_MS + 15_000);
    expect((await other.send()).status).toBe(200);
  });

  it('may retry at once if its place is denied when the others have left the window', async () => {
    const counter = counterWith(() => 100);
    const [one, other] = [isolateOf(counter), isolateOf(counter)];
    await sendInTurn(one, 100);
    await other.send();
    vi.setSystemTime(START + WINDOW_MS - 50);
    // The last one asks 50 ms before that. Its reply comes 50 ms after it.
    const rejected = (await sendAtOnce(other, 20)).at(-1);
    expect(rejected?.status).toBe(429);
    expect(rejected?.headers.get('RateLimit')).toBe('"default";r=0;t=1');
    expect(rejected?.headers.get('Retry-After')).toBe('1');
  });
});

// One isolate has let 80 pass, which leave at the edge. The other one's places are denied before it.
it.each([
  [60, 20, 60],
  [90, 9, 71],
])(
  'of %i and %i requests at the edge of a span, denied places do not count: %i are left',
  async (before, after, left) => {
    const counter = counterWith();
    const [one, other] = [isolateOf(counter), isolateOf(counter)];
    await sendAtOnce(one, 80);
    vi.setSystemTime(START + WINDOW_MS - 1);
    const sent = Array.from({ length: before }, () => other.send());
    await vi.advanceTimersByTimeAsync(1);
    sent.push(...Array.from({ length: after }, () => other.send()));
    await vi.advanceTimersByTimeAsync(300);
    expect(passedOf(await Promise.all(sent))).toBe(100 - left);
    expect(passedOf(await sendInTurn(one, 100))).toBe(left);
  },
);

it('a rejected request is not unconfirmed: no later one waits for it', async () => {
  const counter = counterWith();
  const [one, other] = [isolateOf(counter), isolateOf(counter)];
  await sendAtOnce(one, 80);
  vi.setSystemTime(START + WINDOW_MS / 2);
  await sendAtOnce(other, 40);
  vi.setSystemTime(START + WINDOW_MS);
  const before = counter.messages.length;
  // Of the 20 that passed, the counter has confirmed 16.
  await sendInTurn(other, 15);
  expect(counter.messages.slice(before).filter(({ place }) => place)).toEqual([]);
});

// The requests come at the edge of a span: a clock that differs by more has another span.
it.each([-10_000, 10_000])(
  'a client of one isolate gets its limit of a counter that is %i ms ahead',
  async (aheadMs) => {
    const isolate = isolateOf(counterWith(undefined, aheadMs));
    expect(passedOf(await sendAtOnce(isolate, 150))).toBe(100);
  },
);

// 50 requests come before the jump, and 300 after it. The limit is 100: 50 places are left while the
// 50 are in the window.
it.each([
  [WINDOW_MS, 150],
  [WINDOW_MS - SPAN_MS, 100],
  [-10_000, 100],
  [-15_000, 150],
  [-3_600_000, 150],
])('an isolate whose clock jumps by %i ms lets %i of 350 requests pass', async (jumpMs, passed) => {
  const isolate = isolateOf(counterWith());
  await sendInTurn(isolate, 50);
  vi.setSystemTime(Date.now() + jumpMs);
  for (const count of [150, 150]) await sendAtOnce(isolate, count);
  expect(isolate.begun).toBe(passed);
});

describe('a failing counter', () => {
  it('is probed once a second, and logged once', async () => {
    const counter = counterWith(() => outOfOrder);
    const isolate = isolateOf(counter);
    // The report of the 8th request, at 7 ms, fails. No later request waits, or reports.
    await sendInTurn(isolate, 40);
    expect(counter.messages.map(totalIn)).toEqual([8]);
    // The 41st request comes at 1,006 ms, and the 42nd a second after the report.
    vi.setSystemTime(START + 1_006);
    await sendInTurn(isolate, 10);
    expect(counter.messages.map(totalIn)).toEqual([8, 42]);
    expect(error.mock.calls.map(([line]) => JSON.parse(line).message)).toEqual([
      'rate counter failed',
    ]);
  });

  it('makes requests wait for 300 ms, until it counts as failing', async () => {
    const isolate = isolateOf(counterWith(() => 1_500));
    // 20 unconfirmed requests pass. The next two ask, and have not begun while they wait.
    await sendInTurn(isolate, 20);
    const waiting = [isolate.send(), isolate.send()];
    await vi.advanceTimersByTimeAsync(299);
    expect(isolate.begun).toBe(20);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(waiting);
    expect(error).toHaveBeenCalledOnce();
    // 22 have begun. No further request waits.
    await sendInTurn(isolate, 40);
    expect(isolate.begun).toBe(62);
  });

  it('stays failing in the next window of the client', async () => {
    const counter = counterWith(() => 2 * WINDOW_MS);
    const isolate = isolateOf(counter);
    // Reports at 8 and 16 requests, which nothing answers.
    await sendInTurn(isolate, 20);
    vi.setSystemTime(START + WINDOW_MS);
    const sending = Array.from({ length: 30 }, () => isolate.send());
    await vi.advanceTimersByTimeAsync(0);
    // Otherwise the 21st request of the window would wait. The first one probes.
    expect(isolate.begun).toBe(20 + 30);
    expect(counter.messages.map(totalIn)).toEqual([8, 16, 1]);
    await Promise.all(sending);
  });

  it('is not asked again by an overload: the response is 429 with Retry-After 1', async () => {
    const busy = Object.assign(new Error('busy'), { overloaded: true });
    const isolate = isolateOf(
      counterWith((call) => (call > 1 ? busy : 10)),
      5,
    );
    // Of a limit of 5, one request may be unconfirmed: the second and the third ask.
    await sendAtOnce(isolate, 1);
    vi.setSystemTime(START + WINDOW_MS - SPAN_MS);
    const rejected = (await sendAtOnce(isolate, 2)).at(-1);
    expect(rejected?.headers.get('Retry-After')).toBe('1');
    expect(rejected?.headers.get('RateLimit')).toBe('"default";r=0;t=1');
    const { message } = await expectError(rejected ?? new Response(), 429, 'rate_limit_exceeded');
    expect(message).toBe('Too many requests at once. Retry in 1 s.');
    vi.setSystemTime(START + WINDOW_MS);
    // The rejected requests do not count, so their span is not the oldest one.
    expect((await isolate.send()).headers.get('X-RateLimit-Reset')).toBe('60');
  });
});

it('the name of an object is an HMAC of its address under the first value of API_KEY', async () => {
  vi.useRealTimers();
  const idFromName = vi.fn((name: string) => name);
  const RATE_COUNTER = withMethods(counterWith().binding, { idFromName });
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
  const [[known] = [], ...others] = idFromName.mock.calls;
  // printf 203.0.113.7 | openssl dgst -sha256 -hmac first
  expect(known).toBe('f8112e9c027dbf086741128193dd8bcf4436bfe4422dc1fbd7845224b24d187e');
  expect(new Set([known, ...others.flat()]).size).toBe(4);
});

it('the counters are in the jurisdiction of the var, also for health, and not in development', async () => {
  vi.useRealTimers();
  const jurisdiction = vi.fn(() => counterWith().binding);
  const RATE_COUNTER = withMethods(counterWith().binding, { jurisdiction });
  const vars = { RATE_COUNTER, JURISDICTION: 'eu', RATE_LIMIT_DEFAULT: '1' } as const;
  const response = await sendWith(vars, '/api/health/detailed');
  expect(await response.json()).toMatchObject({ status: 'ok' });
  expect(jurisdiction.mock.calls).toEqual([['eu'], ['eu']]);
  // The local runtime knows no jurisdictions.
  await sendWith({ ...vars, ENVIRONMENT: 'development' }, '/api/none');
  expect(jurisdiction).toHaveBeenCalledTimes(2);
});
