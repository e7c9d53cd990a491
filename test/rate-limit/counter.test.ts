/** The counter object: the windows that it stores, and the effect of an eviction and of an alarm. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CounterName } from '../../src/rate-limit/lease.ts';
import { freshAddress } from '../support/http.ts';

const START = Date.parse('2030-01-01T00:00:00Z');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(START);
});
afterEach(() => {
  vi.useRealTimers();
});

function objectOf(client: string) {
  return env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(client));
}

/** Asks for up to ten requests, so often. Returns the sums that the object answered with. */
async function lease(client: string, times = 1, counter: CounterName = 'default') {
  let granted = 0;
  let left = Number.NaN;
  let resetMs = Number.NaN;
  for (let call = 0; call < times; call += 1) {
    const answer = await objectOf(client).grant(counter, 100, 10);
    granted += answer.granted;
    ({ left, resetMs } = answer);
  }
  return { granted, left, resetMs };
}

/** More calls than it takes to fill a window of 100. */
const FILLING = 24;

/** Everything that the object has stored, and its alarm in seconds from the start. */
function storedIn(client: string) {
  return runInDurableObject(objectOf(client), async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    return {
      windows: Object.fromEntries(storage.kv.list<{ hits: number }>()),
      alarmSeconds: alarm === null ? null : (alarm - START) / 1_000,
    };
  });
}

describe('the storage of a counter', () => {
  it('holds nothing after a first lease, then the window after each lease, with one alarm at its end', async () => {
    const client = freshAddress();
    expect(await lease(client)).toEqual({ granted: 4, left: 96, resetMs: 60_000 });
    expect(await storedIn(client)).toEqual({ windows: {}, alarmSeconds: null });
    vi.setSystemTime(START + 5_000);
    expect(await lease(client)).toEqual({ granted: 10, left: 86, resetMs: 55_000 });
    expect(await storedIn(client)).toEqual({
      windows: { default: { startedAt: START, hits: 14 } },
      alarmSeconds: 60,
    });
    await lease(client);
    expect((await storedIn(client)).windows).toEqual({ default: { startedAt: START, hits: 24 } });
  });

  it('holds a window that its first lease fills', async () => {
    const client = freshAddress();
    await objectOf(client).grant('default', 1, 1);
    expect((await storedIn(client)).windows).toEqual({ default: { startedAt: START, hits: 1 } });
  });

  it('is not written for a refused request', async () => {
    const client = freshAddress();
    expect(await objectOf(client).grant('default', 0, 1)).toMatchObject({
      granted: 0,
      left: 0,
      resetMs: 60_000,
    });
    expect((await storedIn(client)).windows).toEqual({});
  });
});

describe('an eviction', () => {
  it.each([
    [1, 0],
    [2, 14],
    [3, 24],
  ])('after %i leases forgets a first lease at most', async (leases, known) => {
    const client = freshAddress();
    await lease(client, leases);
    vi.setSystemTime(START + 30_000);
    await evictDurableObject(objectOf(client));
    const { granted, left } = await lease(client);
    expect(granted + left).toBe(100 - known);
  });

  it('never forgets that the window is full, until it is over', async () => {
    const client = freshAddress();
    expect(await lease(client, FILLING)).toMatchObject({ granted: 100, left: 0 });
    await evictDurableObject(objectOf(client));
    vi.setSystemTime(START + 59_999);
    expect(await lease(client)).toEqual({ granted: 0, left: 0, resetMs: 1 });
    vi.setSystemTime(START + 60_000);
    expect(await lease(client)).toEqual({ granted: 4, left: 96, resetMs: 60_000 });
  });

  it('forgets nothing that the calling isolate remembers', async () => {
    const client = freshAddress();
    await lease(client);
    vi.setSystemTime(START + 30_000);
    await evictDurableObject(objectOf(client));
    const remembered = { startedAt: START, hits: 4 };
    const answer = await objectOf(client).grant('default', 100, 10, remembered);
    expect(answer).toMatchObject({ granted: 10, left: 86, resetMs: 30_000, window: START });
    expect(await storedIn(client)).toEqual({
      windows: { default: { startedAt: START, hits: 14 } },
      alarmSeconds: 60,
    });
  });
});

describe('the alarm', () => {
  it('deletes only a window that is over, is set again for the other, and leaves an idle object empty', async () => {
    const client = freshAddress();
    await lease(client, 2);
    vi.setSystemTime(START + 30_000);
    await lease(client, 2, 'ingest');
    vi.setSystemTime(START + 60_000);
    await runDurableObjectAlarm(objectOf(client));
    expect(await storedIn(client)).toEqual({
      windows: { ingest: { startedAt: START + 30_000, hits: 14 } },
      alarmSeconds: 90,
    });
    vi.setSystemTime(START + 90_000);
    await runDurableObjectAlarm(objectOf(client));
    expect(await storedIn(client)).toEqual({ windows: {}, alarmSeconds: null });
  });

  it('that comes early deletes nothing', async () => {
    const client = freshAddress();
    await lease(client, FILLING);
    vi.setSystemTime(START + 59_000);
    await runDurableObjectAlarm(objectOf(client));
    await evictDurableObject(objectOf(client));
    expect(await lease(client)).toMatchObject({ granted: 0 });
    expect((await storedIn(client)).alarmSeconds).toBe(60);
  });

  it('is never set for the past, or within a second: clocks differ', async () => {
    const client = freshAddress();
    await lease(client, 2);
    vi.setSystemTime(START + 59_990);
    await runDurableObjectAlarm(objectOf(client));
    expect((await storedIn(client)).alarmSeconds).toBe(60.99);
  });
});

it('counts the two counters of a client separately', async () => {
  const client = freshAddress();
  await lease(client, 2, 'ingest');
  expect(await lease(client)).toMatchObject({ granted: 4, left: 96 });
});
