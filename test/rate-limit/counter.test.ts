/**
 * The counter object: what it adds up, what it stores, and what an eviction and an alarm change.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freshAddress } from '../support/http.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;
const LIMIT = 100;

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

/** Reports a count of a record. Returns the reply as data. */
async function report(
  client: string,
  record: string,
  passed: number,
  more: object = {},
  counter: 'default' | 'ingest' = 'default',
) {
  const message = { record, passed, ageMs: 0, wantsPlace: false, ...more };
  using reply = await objectOf(client).report(counter, LIMIT, message);
  const { isGranted, own, others, ageMs } = reply;
  return { isGranted, own, others, ageMs };
}

/** The stored counts of each counter, and the alarm in seconds from the start. */
function storedIn(client: string) {
  return runInDurableObject(objectOf(client), async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    const windows = [...storage.kv.list<{ counts: Map<string, number> }>()];
    return {
      counts: windows.map(([counter, { counts }]) => [counter, Object.fromEntries(counts)]),
      alarmSeconds: alarm === null ? null : (alarm - START) / 1_000,
    };
  });
}

describe('the total of a window', () => {
  it('is the sum of the greatest count of each record, in any order of the reports', async () => {
    const client = freshAddress();
    await report(client, 'a', 8);
    await report(client, 'b', 16);
    await report(client, 'a', 24);
    expect(await report(client, 'a', 16)).toMatchObject({ own: 24, others: 16 });
    expect(await report(client, 'a', 24)).toMatchObject({ own: 24, others: 16 });
    expect(await report(client, 'b', 17)).toMatchObject({ own: 17, others: 24 });
  });

  it('has a place while it is below the limit', async () => {
    const client = freshAddress();
    await report(client, 'a', 70);
    const wantsPlace = true;
    const granted = await report(client, 'b', 29, { wantsPlace });
    expect(granted).toMatchObject({ isGranted: true, own: 30 });
    const denied = await report(client, 'b', 30, { wantsPlace });
    expect(denied).toMatchObject({ isGranted: false, own: 30 });
  });

  it('is separate for each counter', async () => {
    const client = freshAddress();
    await report(client, 'a', 8);
    expect((await report(client, 'b', 3, {}, 'ingest')).others).toBe(0);
  });
});

describe('a window', () => {
  it('began with the earliest request that is reported', async () => {
    const client = freshAddress();
    await report(client, 'a', 8, { ageMs: 5_000 });
    expect((await report(client, 'b', 8, { ageMs: 20_000 })).ageMs).toBe(20_000);
    expect((await report(client, 'a', 9, { ageMs: 5_000 })).ageMs).toBe(20_000);
    vi.setSystemTime(START + WINDOW_MS - 20_000);
    expect(await report(client, 'c', 1)).toMatchObject({ others: 0, ageMs: 0 });
  });

  it('ends for the object when an isolate has begun its next one', async () => {
    const client = freshAddress();
    await report(client, 'a', 100);
    vi.setSystemTime(START + WINDOW_MS - 1_000);
    const next = await report(client, 'a2', 8, { formerRecord: 'a' });
    expect(next).toMatchObject({ own: 8, others: 0, ageMs: 0 });
  });

  it.each([
    ['of a record that it counted', 'a', WINDOW_MS],
    ['of a record that it never counted', 'c', WINDOW_MS - 100],
  ])('that has ended takes no late report %s', async (_, record, ageMs) => {
    const client = freshAddress();
    await report(client, 'a', 50);
    vi.setSystemTime(START + WINDOW_MS);
    await report(client, 'b', 8);
    expect((await report(client, record, 60, { ageMs })).ageMs).toBe(WINDOW_MS);
    expect(await report(client, 'b', 9)).toMatchObject({ own: 9, others: 0, ageMs: 0 });
  });
});

describe('the storage of a counter', () => {
  it('has nothing after one report, then the counts after each change, with one alarm at the end', async () => {
    const client = freshAddress();
    await report(client, 'a', 8);
    expect(await storedIn(client)).toEqual({ counts: [], alarmSeconds: null });
    vi.setSystemTime(START + 5_000);
    await report(client, 'a', 16, { ageMs: 5_000 });
    const stored = { counts: [['default', { a: 16 }]], alarmSeconds: WINDOW_SECONDS };
    expect(await storedIn(client)).toEqual(stored);
    await report(client, 'a', 12, { ageMs: 5_000 });
    expect(await storedIn(client)).toEqual(stored);
    await report(client, 'b', 1);
    expect(await storedIn(client)).toMatchObject({ counts: [['default', { a: 16, b: 1 }]] });
  });

  it('is not written for a report without a count', async () => {
    const client = freshAddress();
    await report(client, 'health', 0);
    await report(client, 'health', 0);
    expect(await storedIn(client)).toEqual({ counts: [], alarmSeconds: null });
  });

  it('outlives an eviction, and the window keeps its end', async () => {
    const client = freshAddress();
    await report(client, 'a', 8);
    await report(client, 'a', 16);
    await evictDurableObject(objectOf(client));
    vi.setSystemTime(START + WINDOW_MS / 2);
    expect(await report(client, 'b', 1)).toMatchObject({ others: 16, ageMs: WINDOW_MS / 2 });
  });

  it('is restored by the next report where an eviction forgot it', async () => {
    const client = freshAddress();
    await report(client, 'a', 8);
    await evictDurableObject(objectOf(client));
    vi.setSystemTime(START + 20_000);
    await report(client, 'a', 16, { ageMs: 20_000 });
    expect(await report(client, 'b', 1)).toMatchObject({ others: 16, ageMs: 20_000 });
  });
});

describe('the alarm', () => {
  async function fill(client: string, counter: 'default' | 'ingest', record = 'a') {
    for (const passed of [8, 16]) await report(client, record, passed, {}, counter);
  }

  it('deletes nothing while a window runs, and is set again for the end of this window', async () => {
    const client = freshAddress();
    await fill(client, 'default');
    vi.setSystemTime(START + WINDOW_MS / 2);
    await fill(client, 'ingest');
    vi.setSystemTime(START + WINDOW_MS);
    expect(await runDurableObjectAlarm(objectOf(client))).toBe(true);
    const counts = ['default', 'ingest'].map((counter) => [counter, { a: 16 }]);
    expect(await storedIn(client)).toEqual({ counts, alarmSeconds: 1.5 * WINDOW_SECONDS });
    vi.setSystemTime(START + 1.5 * WINDOW_MS);
    await runDurableObjectAlarm(objectOf(client));
    expect(await storedIn(client)).toEqual({ counts: [], alarmSeconds: null });
  });

  it('that comes early deletes nothing, and is never set within a second: clocks differ', async () => {
    const client = freshAddress();
    await fill(client, 'default');
    vi.setSystemTime(START + WINDOW_MS - 10);
    await runDurableObjectAlarm(objectOf(client));
    const stored = { counts: [['default', { a: 16 }]], alarmSeconds: WINDOW_SECONDS + 0.99 };
    expect(await storedIn(client)).toEqual(stored);
  });

  it('is set again for the next window', async () => {
    const client = freshAddress();
    await fill(client, 'default');
    vi.setSystemTime(START + WINDOW_MS);
    await runDurableObjectAlarm(objectOf(client));
    await fill(client, 'default', 'b');
    expect(await storedIn(client)).toMatchObject({ alarmSeconds: 2 * WINDOW_SECONDS });
  });
});
