/** The calls of an isolate to the counter, and the size of the leases that it asks for, in virtual time. */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { grant, type Window, windowAt } from '../../src/rate-limit/lease.ts';
import { freshAddress } from '../support/http.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  vi.spyOn(console, 'log').mockReturnValue(undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/**
 * An isolate with a counter that grants as the object does. `answerAfterMs` is asked for each call, which is
 * named by its number from 0: the call fails where it gives null.
 */
function isolate(answerAfterMs: (call: number) => number | null = () => 0) {
  const app = createApp();
  const asked: number[] = [];
  const windows = new Map<string, Window>();
  const stubOf = (client: string) => ({
    async grant(_counter: string, limit: number, wanted: number) {
      const afterMs = answerAfterMs(asked.push(wanted) - 1);
      if (afterMs === null) throw new Error('out of order');
      const now = Date.now();
      const current = windowAt(now, windows.get(client), undefined);
      const { window, lease } = grant(current, limit, wanted, now);
      windows.set(client, window);
      if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
      return { ...lease, [Symbol.dispose]: () => {} };
    },
  });
  const binding = { idFromName: (name: string) => name, get: stubOf };
  const bindings = { ...env, RATE_COUNTER: binding as unknown as Env['RATE_COUNTER'] };
  return {
    /** The sizes of the leases that were asked for. */
    asked,
    async send(client: string) {
      const request = new Request('https://api.example.com/api/none', {
        headers: { 'CF-Connecting-IP': client },
      });
      const { status, headers } = await app.fetch(request, bindings, createExecutionContext());
      return { status, remaining: headers.get('X-RateLimit-Remaining') };
    },
  };
}

/** Sends requests one after the other. */
async function sendInTurn({ send }: ReturnType<typeof isolate>, client: string, count: number) {
  for (let sent = 0; sent < count; sent += 1) await send(client);
}

describe('the next lease', () => {
  it('is fetched when a first lease is spent, and from then on when one request is held', async () => {
    const one = isolate();
    const client = freshAddress();
    await sendInTurn(one, client, 3);
    expect(one.asked).toEqual([4]);
    await sendInTurn(one, client, 1);
    expect(one.asked).toEqual([4, 10]);
    await sendInTurn(one, client, 8);
    expect(one.asked).toEqual([4, 10]);
    await sendInTurn(one, client, 1);
    expect(one.asked).toEqual([4, 10, 9]);
  });

  it('is not fetched ahead for a second after a failed call', async () => {
    for (const [pauseMs, calls] of [
      [999, 3],
      [1_000, 4],
    ] as const) {
      vi.spyOn(console, 'error').mockReturnValue(undefined);
      const one = isolate((call) => (call === 2 ? null : 0));
      const client = freshAddress();
      await sendInTurn(one, client, 13);
      expect(one.asked).toHaveLength(3);
      vi.setSystemTime(Date.now() + pauseMs);
      await sendInTurn(one, client, 1);
      expect(one.asked).toHaveLength(calls);
    }
  });

  it('is half as large for a client that has found the pool empty three times', async () => {
    const one = isolate(() => 20);
    const client = freshAddress();
    const answers: Promise<unknown>[] = [];
    for (let sent = 0; sent < 70; sent += 1) {
      answers.push(one.send(client));
      await vi.advanceTimersByTimeAsync(1);
    }
    await vi.advanceTimersByTimeAsync(200);
    await Promise.all(answers);
    expect(one.asked.slice(0, 3)).toEqual([4, 10, 10]);
    expect(Math.max(...one.asked.slice(4))).toBe(5);
  });
});

describe('a request beside a call of another request', () => {
  it('relies on the call for 100 ms, then makes its own', async () => {
    const one = isolate((call) => (call === 0 ? 60_000 : 0));
    const client = freshAddress();
    const first = one.send(client);
    const second = one.send(client);
    await vi.advanceTimersByTimeAsync(99);
    expect(one.asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(one.asked).toHaveLength(2);
    expect(await second).toEqual({ status: 404, remaining: '95' });
    await vi.advanceTimersByTimeAsync(900);
    await first;
  });

  it('waits a second in all, also when its own call is not answered either', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue(undefined);
    const one = isolate(() => 60_000);
    const client = freshAddress();
    const start = Date.now();
    const answeredAfter: number[] = [];
    for (const delayMs of [0, 0, 300]) {
      setTimeout(async () => {
        await one.send(client);
        answeredAfter.push(Date.now() - start - delayMs);
      }, delayMs);
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(answeredAfter).toEqual([1_000, 1_000, 1_000]);
    expect(log.mock.calls.map(([line]) => JSON.parse(line).cause)).toEqual([
      expect.stringContaining('took over 1000 ms'),
      expect.stringContaining('took over 900 ms'),
      expect.stringContaining('took over 1000 ms'),
    ]);
  });
});

it('a lease that comes after its request has waited for a second is spent by later requests', async () => {
  vi.spyOn(console, 'error').mockReturnValue(undefined);
  const one = isolate(() => 1_500);
  const client = freshAddress();
  const first = one.send(client);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await first).toEqual({ status: 404, remaining: null });
  await vi.advanceTimersByTimeAsync(500);
  expect(await one.send(client)).toEqual({ status: 404, remaining: '99' });
  expect(one.asked).toHaveLength(1);
});
