/**
 * How isolates count: exactly for a client of one isolate, whatever its object does, and in few
 * calls.
 */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { addReport, type ObjectWindow, type Report } from '../../src/rate-limit/window.ts';
import former from '../releases/1.0.0/fixtures.json';
import { expectError, freshAddress, sendWith } from '../support/http.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;

let error: MockInstance<typeof console.error>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: START });
  vi.spyOn(console, 'log').mockReturnValue(undefined);
  error = vi.spyOn(console, 'error').mockReturnValue(undefined);
});

/** What an object does with a call: it takes this time, or fails. */
type Fate = number | Error;

/**
 * The object of one client, which adds up as the real one does. `fateOf` decides about each call.
 */
function objectWith(fateOf: (call: number) => Fate = () => 10) {
  const reports: Report[] = [];
  let known: readonly ObjectWindow[] = [];
  const stub = {
    async report(_counter: string, limit: number, report: Report) {
      const fate = fateOf(reports.push(report));
      if (fate instanceof Error) throw fate;
      const { windows, reply } = addReport(known, report, limit, Date.now());
      known = windows;
      await new Promise((resolve) => setTimeout(resolve, fate));
      return { ...reply, [Symbol.dispose]: () => {} };
    },
  };
  const binding = { idFromName: (name: string) => name, get: () => stub };
  return { reports, binding: binding as unknown as Env['RATE_COUNTER'] };
}

/** An isolate that serves one client. Its route counts the requests that have begun. */
function isolateOf({ binding }: ReturnType<typeof objectWith>, limit = 100) {
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

describe.each<[string, (call: number) => Fate]>([
  ['is running', () => 10],
  ['is slow', () => 2_000],
  ['starts', (call) => (call === 1 ? 1_500 : 10)],
  ['fails', () => outOfOrder],
  ['fails at times', (call) => (call % 3 === 0 ? 10 : outOfOrder)],
])('a client of one isolate whose object %s', (_, fateOf) => {
  it.each([1, 19, 100])(
    'gets exactly its limit of %i at once, and rejected requests do not begin',
    async (limit) => {
      const isolate = isolateOf(objectWith(fateOf), limit);
      expect(passedOf(await sendAtOnce(isolate, 2 * limit))).toBe(limit);
      expect(isolate.begun).toBe(limit);
      expect(passedOf(await sendAtOnce(isolate, 20))).toBe(0);
      vi.setSystemTime(START + WINDOW_MS);
      expect(passedOf(await sendAtOnce(isolate, 2 * limit))).toBe(limit);
    },
  );

  it('gets its limit one by one, each with one request less that remains', async () => {
    const responses = await sendInTurn(isolateOf(objectWith(fateOf)), 101);
    const remaining = responses.map(({ headers }) => Number(headers.get('X-RateLimit-Remaining')));
    expect(remaining).toEqual([...Array(100).keys(), 0].toSorted((a, b) => b - a));
    expect(responses.at(-1)?.status).toBe(429);
  });
});

describe('the calls of the object', () => {
  it('carry the count so far, the age of the window, and a new record for each window', async () => {
    const object = objectWith();
    const isolate = isolateOf(object);
    await isolate.send();
    await vi.advanceTimersByTimeAsync(5_000);
    await sendInTurn(isolate, 15);
    await vi.advanceTimersByTimeAsync(20);
    vi.setSystemTime(START + WINDOW_MS);
    await sendInTurn(isolate, 8);
    const [first, second, next] = object.reports;
    expect(object.reports.map(({ count }) => count)).toEqual([8, 16, 8]);
    expect(first?.ageMs).toBeGreaterThanOrEqual(5_000);
    expect(second?.record).toBe(first?.record);
    expect(next?.record).not.toBe(first?.record);
  });

  it('have the form of the release before: another form needs another method', async () => {
    const object = objectWith();
    await sendInTurn(isolateOf(object), 10);
    const [[, , message] = []] = former.counter.messages;
    const typesOf = (sent: object = {}) =>
      Object.entries(sent).map(([name, value]) => [name, typeof value]);
    expect(typesOf(object.reports[0])).toEqual(typesOf(Object(message)));
  });

  it('outlive their requests: waitUntil has the report and the place', async () => {
    const isolate = isolateOf(objectWith());
    const held: number[] = [];
    const sending = Array.from({ length: 30 }, (_, sent) => {
      const context = createExecutionContext();
      vi.spyOn(context, 'waitUntil').mockImplementation(() => void held.push(sent));
      return isolate.send(context);
    });
    await vi.advanceTimersByTimeAsync(300);
    await Promise.all(sending);
    expect(held).toEqual([7, 15, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  });
});

it('a client of several isolates shares one window, which began with its first request', async () => {
  const object = objectWith();
  const [one, other] = [isolateOf(object), isolateOf(object)];
  await sendInTurn(one, 100);
  vi.setSystemTime(START + WINDOW_MS - 20_000);
  const [rejected] = (await sendInTurn(other, 30)).filter(({ status }) => status === 429);
  expect(rejected?.headers.get('Retry-After')).toBe('20');
  vi.setSystemTime(START + WINDOW_MS);
  expect(passedOf(await sendInTurn(one, 8))).toBe(8);
});

it.each([
  [WINDOW_MS, 150],
  [20_000, 100],
  [-20_000, 100],
  [-2 * WINDOW_MS, 150],
])('an isolate whose clock jumps by %i ms lets %i of 350 requests pass', async (jumpMs, passed) => {
  const isolate = isolateOf(objectWith());
  await sendInTurn(isolate, 50);
  vi.setSystemTime(Date.now() + jumpMs);
  for (const count of [150, 150]) await sendAtOnce(isolate, count);
  expect(isolate.begun).toBe(passed);
});

describe('an object that fails', () => {
  it('makes no request wait, is probed once a second, and is logged once', async () => {
    const object = objectWith(() => outOfOrder);
    const isolate = isolateOf(object);
    await sendInTurn(isolate, 40);
    // The report after the eighth request, at 7 ms, fails. No later request waits, or asks.
    expect(object.reports).toHaveLength(1);
    expect(error).toHaveBeenCalledOnce();
    vi.setSystemTime(START + 1_006);
    await sendInTurn(isolate, 10);
    expect(object.reports.map(({ count }) => count)).toEqual([8, 42]);
    expect(error).toHaveBeenCalledOnce();
    expect(error.mock.calls[0]?.[0]).toContain('rate counter failed');
  });

  it('makes only requests wait that ask before it counts as failing, for 300 ms, not begun, and is logged', async () => {
    const isolate = isolateOf(objectWith(() => 1_500));
    await sendInTurn(isolate, 20);
    const waiting = [isolate.send(), isolate.send()];
    await vi.advanceTimersByTimeAsync(299);
    expect(isolate.begun).toBe(20);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(waiting);
    expect(error).toHaveBeenCalledOnce();
    await sendInTurn(isolate, 40);
    expect(isolate.begun).toBe(62);
  });

  it('is not asked again by an overload: the response is 429 with Retry-After 1', async () => {
    const busy = Object.assign(new Error('busy'), { overloaded: true });
    const object = objectWith(() => busy);
    const isolate = isolateOf(object, 5);
    const rejected = (await sendAtOnce(isolate, 3)).find(({ status }) => status === 429);
    expect(rejected?.headers.get('Retry-After')).toBe('1');
    const { message } = await expectError(rejected ?? new Response(), 429, 'rate_limit_exceeded');
    expect(message).toBe('Too many requests at once. Retry in 1 s.');
  });
});

describe('the name of an object', () => {
  /** Returns the names of the objects that a request from each address has called. */
  async function namesOf(addresses: readonly string[], vars: Partial<Env>): Promise<string[]> {
    const idFromName = vi.fn((name: string) => name);
    const RATE_COUNTER = { ...objectWith().binding, idFromName };
    const bindings = { ...vars, RATE_COUNTER, RATE_LIMIT_DEFAULT: '1' } as unknown as Partial<Env>;
    for (const address of addresses) {
      await sendWith(bindings, '/api/none', { headers: { 'CF-Connecting-IP': address } });
    }
    return idFromName.mock.calls.map(([name]) => name);
  }

  beforeEach(() => {
    vi.useRealTimers();
  });

  it('is an HMAC of the address under the first value of API_KEY', async () => {
    const [known = '', ...others] = await namesOf(['203.0.113.7', '203.0.113.8', '2001:db8::1'], {
      API_KEY: 'first,second',
    });
    // printf 203.0.113.7 | openssl dgst -sha256 -hmac first
    expect(known).toBe('f8112e9c027dbf086741128193dd8bcf4436bfe4422dc1fbd7845224b24d187e');
    expect(new Set([known, ...others]).size).toBe(3);
  });

  it('is another one under another API_KEY, and exists without one', async () => {
    const names = await Promise.all(
      ['one', 'two', ''].map((API_KEY) => namesOf(['203.0.113.7'], { API_KEY })),
    );
    expect(new Set(names.flat()).size).toBe(3);
  });
});

it('the counters are in the jurisdiction of the var, also for health, and not in development', async () => {
  vi.useRealTimers();
  const jurisdiction = vi.fn(() => objectWith().binding);
  const RATE_COUNTER = { ...objectWith().binding, jurisdiction } as unknown as Env['RATE_COUNTER'];
  const vars = { RATE_COUNTER, JURISDICTION: 'eu', RATE_LIMIT_DEFAULT: '1' } as const;
  const response = await sendWith(vars, '/api/health/detailed');
  expect(await response.json()).toMatchObject({ status: 'ok' });
  expect(jurisdiction.mock.calls).toEqual([['eu'], ['eu']]);
  // The local runtime knows no jurisdictions.
  await sendWith({ ...vars, ENVIRONMENT: 'development' }, '/api/none');
  expect(jurisdiction).toHaveBeenCalledTimes(2);
});
