/**
 * How isolates count: exactly for a client of one isolate, whatever its object does, and in few
 * calls.
 */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { addReport, type ObjectWindow, type Report } from '../../src/rate-limit/window.ts';
import { expectError, freshAddress, sendWith } from '../support/http.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  vi.setSystemTime(START);
  vi.spyOn(console, 'log').mockReturnValue(undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** What an object does with a call: it takes this time, or fails. */
type Fate = number | Error;

/**
 * The object of one client, which adds up as the real one does. `fateOf` decides about each call.
 */
function objectWith(fateOf: (call: number) => Fate = () => 10) {
  const reports: Report[] = [];
  let known: ObjectWindow | undefined;
  const stub = {
    async report(_counter: string, limit: number, report: Report) {
      const fate = fateOf(reports.push(report));
      if (fate instanceof Error) throw fate;
      const { window, reply } = addReport(known, report, limit, Date.now());
      known = window;
      await new Promise((resolve) => setTimeout(resolve, fate));
      return { ...reply, [Symbol.dispose]: () => {} };
    },
  };
  const binding = { idFromName: (name: string) => name, get: () => stub };
  return { reports, binding: binding as unknown as Env['RATE_COUNTER'] };
}

/** An isolate that serves one client. Its route counts the requests that have begun. */
function isolateOf({ binding }: ReturnType<typeof objectWith>, limit = 100) {
  let begun = 0;
  const app = createApp().get('/api/v1/work', (c) => {
    begun += 1;
    return c.json({});
  });
  const bindings = { ...env, RATE_COUNTER: binding, RATE_LIMIT_DEFAULT: String(limit) };
  const headers = { 'CF-Connecting-IP': freshAddress() };
  return {
    get begun() {
      return begun;
    },
    async send() {
      const request = new Request('https://api.example.com/api/v1/work', { headers });
      return await app.fetch(request, bindings, createExecutionContext());
    },
  };
}

type Isolate = ReturnType<typeof isolateOf>;

/** Sends requests at once, and lets time pass until all have a response. */
async function sendAtOnce(isolate: Isolate, count: number): Promise<Response[]> {
  const responses = Promise.all(Array.from({ length: count }, isolate.send));
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
const remainingOf = ({ headers }: Response) => Number(headers.get('X-RateLimit-Remaining'));

const OBJECTS: [string, (call: number) => Fate][] = [
  ['is running', () => 10],
  ['is slow', () => 2_000],
  ['starts', (call) => (call === 1 ? 1_500 : 10)],
  ['fails', () => new Error('out of order')],
  ['fails at times', (call) => (call % 3 === 0 ? 10 : new Error('out of order'))],
];

describe.each(OBJECTS)('a client of one isolate whose object %s', (_, fateOf) => {
  beforeEach(() => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
  });

  it('gets exactly 100 of 300 requests at once, and the rejected ones do not begin', async () => {
    const isolate = isolateOf(objectWith(fateOf));
    const responses = await sendAtOnce(isolate, 300);
    expect(passedOf(responses)).toBe(100);
    expect(isolate.begun).toBe(100);
    expect(passedOf(await sendAtOnce(isolate, 20))).toBe(0);
    vi.setSystemTime(START + WINDOW_MS);
    expect(passedOf(await sendAtOnce(isolate, 300))).toBe(100);
  });

  it('gets its limit one by one, each with one request less that remains', async () => {
    const isolate = isolateOf(objectWith(fateOf));
    const responses = await sendInTurn(isolate, 101);
    expect(responses.map(remainingOf)).toEqual([...Array(100).keys(), 0].toSorted((a, b) => b - a));
    expect(responses.at(-1)?.status).toBe(429);
  });

  it.each([1, 2, 19])('gets exactly a limit of %i', async (limit) => {
    const isolate = isolateOf(objectWith(fateOf), limit);
    expect(passedOf(await sendAtOnce(isolate, 60))).toBe(limit);
  });
});

describe('the calls of the object', () => {
  it('for 300 requests at once are at most 92', async () => {
    const object = objectWith();
    await sendAtOnce(isolateOf(object), 300);
    expect(object.reports.length).toBeGreaterThan(80);
    expect(object.reports.length).toBeLessThanOrEqual(92);
  });

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
    expect(object.reports.map(({ passed }) => passed)).toEqual([8, 16, 8]);
    expect(first?.ageMs).toBeGreaterThanOrEqual(5_000);
    expect(second?.record).toBe(first?.record);
    expect(next?.record).not.toBe(first?.record);
    expect(next?.formerRecord).toBe(first?.record);
  });
});

describe('a client of several isolates', () => {
  it('shares one window, which began with its first request', async () => {
    const object = objectWith();
    const [one, other] = [isolateOf(object), isolateOf(object)];
    await sendInTurn(one, 100);
    vi.setSystemTime(START + WINDOW_MS - 20_000);
    const [rejected] = (await sendInTurn(other, 30)).filter(({ status }) => status === 429);
    expect(rejected?.headers.get('Retry-After')).toBe('20');
    vi.setSystemTime(START + WINDOW_MS);
    expect(passedOf(await sendInTurn(one, 8))).toBe(8);
  });
});

describe('an object that fails', () => {
  it('makes one request wait for 300 ms, is probed once a second, and is logged once', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue(undefined);
    const object = objectWith(() => new Error('secret of the counter'));
    const isolate = isolateOf(object);
    await sendInTurn(isolate, 40);
    // The report after the eighth request fails. No later request waits, or asks.
    expect(object.reports).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await sendInTurn(isolate, 10);
    expect(object.reports.map(({ passed }) => passed)).toEqual([8, 41]);
    expect(error).toHaveBeenCalledOnce();
    expect(error.mock.calls[0]?.[0]).toContain('rate counter failed');
  });

  it('never makes a request wait that has a place, once a call got no reply in time', async () => {
    const object = objectWith(() => 1_500);
    const isolate = isolateOf(object);
    await sendInTurn(isolate, 20);
    const waiting = isolate.send();
    const another = isolate.send();
    await vi.advanceTimersByTimeAsync(299);
    expect(isolate.begun).toBe(20);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all([waiting, another]);
    await sendInTurn(isolate, 40);
    expect(isolate.begun).toBe(62);
  });

  it('is not asked again by an overload: the response is 429 with Retry-After 1', async () => {
    vi.useRealTimers();
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    const { binding } = objectWith(() => Object.assign(new Error('busy'), { overloaded: true }));
    const vars = { RATE_COUNTER: binding, RATE_LIMIT_DEFAULT: '5' };
    const app = createApp();
    const headers = { 'CF-Connecting-IP': freshAddress() };
    const responses = await Promise.all(
      Array.from({ length: 3 }, () => sendWith(vars, '/api/none', { headers }, app)),
    );
    const rejected = responses.find(({ status }) => status === 429);
    expect(rejected?.headers.get('Retry-After')).toBe('1');
    const { message } = await expectError(rejected ?? new Response(), 429, 'rate_limit_exceeded');
    expect(message).toBe('Too many requests at once. Retry in 1 s.');
  });
});

it('a request that waits for its counter has not begun', async () => {
  const isolate = isolateOf(objectWith(() => 200));
  const responses = Promise.all(Array.from({ length: 25 }, isolate.send));
  await vi.advanceTimersByTimeAsync(199);
  expect(isolate.begun).toBe(20);
  await vi.advanceTimersByTimeAsync(1);
  expect(passedOf(await responses)).toBe(25);
  expect(isolate.begun).toBe(25);
});

it('a call outlives its request: waitUntil has the report and the place', async () => {
  const object = objectWith(() => 10);
  const app = createApp();
  const headers = { 'CF-Connecting-IP': freshAddress() };
  const held: number[] = [];
  const sending = Array.from({ length: 30 }, (_, sent) => {
    const context = createExecutionContext();
    vi.spyOn(context, 'waitUntil').mockImplementation(() => void held.push(sent));
    const request = new Request('https://api.example.com/api/none', { headers });
    return app.fetch(request, { ...env, RATE_COUNTER: object.binding }, context);
  });
  await vi.advanceTimersByTimeAsync(300);
  await Promise.all(sending);
  expect(held).toEqual([7, 15, ...Array.from({ length: 10 }, (_, index) => 20 + index)]);
});

it.each(['eu', 'us', 'fedramp'] as const)(
  'the counters are in the jurisdiction %s where the var says so, and also for health',
  async (JURISDICTION) => {
    vi.useRealTimers();
    const names: string[] = [];
    const { binding } = objectWith();
    const jurisdiction = (name: string) => {
      names.push(name);
      return binding;
    };
    const RATE_COUNTER = { jurisdiction } as unknown as Env['RATE_COUNTER'];
    const vars = { RATE_COUNTER, JURISDICTION, RATE_LIMIT_DEFAULT: '1' };
    const response = await sendWith(vars, '/api/health/detailed');
    expect(await response.json()).toMatchObject({ status: 'ok' });
    expect(names).toEqual([JURISDICTION, JURISDICTION]);
  },
);

it('the counters of a developer are in no jurisdiction: the local runtime knows none', async () => {
  vi.useRealTimers();
  const vars = { ENVIRONMENT: 'development', JURISDICTION: 'eu', RATE_LIMIT_DEFAULT: '1' };
  const response = await sendWith(vars, '/api/none');
  expect(response.headers.get('RateLimit')).toBe(`"default";r=0;t=${WINDOW_SECONDS}`);
});
