/**
 * The counter object: what it adds up, what it stores, and what an eviction and an alarm change.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import former from '../releases/1.0.0/fixtures.json';
import { freshAddress } from '../support/http.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const WINDOW_MS = WINDOW_SECONDS * 1_000;
const LIMIT = 100;

let object: ReturnType<typeof env.RATE_COUNTER.get>;

beforeEach(() => {
  object = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(freshAddress()));
  vi.useFakeTimers({ toFake: ['Date'], now: START });
});

/** Lets time pass since the start of the test. */
const setTime = (ms: number) => vi.setSystemTime(START + ms);

/** Reports a count of a record. Returns the reply as data. */
async function report(record: string, count: number, more: object = {}, isIngest = false) {
  const message = { record, count, ageMs: 0, wantsPlace: false, ...more };
  using reply = await object.report(isIngest ? 'ingest' : 'default', LIMIT, message);
  const { isGranted, own, others, ageMs } = reply;
  return { isGranted, own, others, ageMs };
}

/** The stored counts of each counter, and the alarm in seconds from the start. */
function stored() {
  return runInDurableObject(object, async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    const entries = [...storage.kv.list<{ windows: { counts: Map<string, number> }[] }>()];
    return {
      counts: entries.map(([key, { windows }]) => [
        key,
        ...windows.map(({ counts }) => Object.fromEntries(counts)),
      ]),
      alarmSeconds: alarm === null ? null : (alarm - START) / 1_000,
    };
  });
}

const NOTHING = { counts: [], alarmSeconds: null };

describe('the total of a window', () => {
  it('is the sum of the greatest count of each record, whatever the order, per counter', async () => {
    await report('a', 8);
    await report('b', 16);
    await report('a', 24);
    expect(await report('a', 16)).toMatchObject({ own: 24, others: 16 });
    expect(await report('a', 24)).toMatchObject({ own: 24, others: 16 });
    expect(await report('b', 17)).toMatchObject({ own: 17, others: 24 });
    expect(await report('b', 3, {}, true)).toMatchObject({ own: 3, others: 0 });
  });

  it('has a place while it is below the limit', async () => {
    await report('a', 70);
    const place = (number: number) => report('b', number, { wantsPlace: true });
    expect(await place(29)).toMatchObject({ isGranted: true, own: 29 });
    expect(await place(30)).toMatchObject({ isGranted: true, own: 30 });
    expect(await place(31)).toMatchObject({ isGranted: false, own: 30 });
  });

  it('counts a place that was asked for late once: its request has been reported', async () => {
    await report('a', 10);
    await report('b', LIMIT);
    for (const number of [6, 10]) {
      const late = await report('a', number, { wantsPlace: true });
      expect(late).toMatchObject({ isGranted: true, own: 10 });
    }
    expect(await report('b', 0)).toMatchObject({ others: 10 });
  });
});

describe('a window', () => {
  it('began with the earliest request that is reported', async () => {
    await report('a', 8, { ageMs: 5_000 });
    expect((await report('b', 8, { ageMs: 50_000 })).ageMs).toBe(50_000);
    expect((await report('a', 9, { ageMs: 5_000 })).ageMs).toBe(50_000);
    setTime(WINDOW_MS - 50_000);
    expect(await report('c', 1)).toMatchObject({ others: 0, ageMs: 0 });
  });

  it('takes the reports of windows that began less than 50 s before or after', async () => {
    await report('a', 50);
    setTime(49_999);
    expect(await report('b', 8)).toMatchObject({ own: 8, others: 50, ageMs: 49_999 });
    expect(await report('a', 51, { ageMs: 49_999 })).toMatchObject({ own: 51, others: 8 });
    setTime(50_000);
    expect(await report('next', 8)).toMatchObject({ own: 8, others: 0, ageMs: 0 });
  });

  it('still takes reports when the next one has begun', async () => {
    await report('a', 50);
    setTime(55_000);
    await report('next', 8);
    expect(await report('b', 9, { ageMs: 30_000 })).toMatchObject({ others: 50, ageMs: 55_000 });
    expect(await report('next', 9)).toMatchObject({ own: 9, others: 0, ageMs: 0 });
  });

  it('is known until a second window has begun after it', async () => {
    await report('a', 8);
    for (const at of [52_000, 104_000]) {
      setTime(at);
      await report(`window of ${at}`, 8);
    }
    setTime(105_000);
    // It began at 46 s. The window of 0 s would be the earlier one.
    expect(await report('b', 1, { ageMs: 59_000 })).toMatchObject({ others: 8, ageMs: 59_000 });
  });

  it('is found by an isolate that met the client in it and reports after its end', async () => {
    await report('a', 50);
    setTime(WINDOW_MS + 39_000);
    // It began at 40 s by the clock of the test, and belongs to the window of `a`.
    const late = await report('b', 30, { ageMs: 59_000 });
    expect(late).toEqual({ isGranted: true, own: 30, others: 0, ageMs: WINDOW_MS + 39_000 });
    expect(await report('b', 1)).toMatchObject({ own: 1, others: 0, ageMs: 0 });
  });

  it.each([
    ['of a record that it counted', 'a', WINDOW_MS],
    ['of a record that it never counted', 'c', WINDOW_MS - 100],
  ])('that has ended takes no late report %s', async (_, record, ageMs) => {
    await report('a', 50);
    setTime(WINDOW_MS);
    await report('b', 8);
    expect(await report(record, 60, { ageMs })).toMatchObject({ others: 0, ageMs: WINDOW_MS });
    expect(await report('b', 9)).toMatchObject({ own: 9, others: 0, ageMs: 0 });
  });
});

it('a window goes on after its clock was set back, for isolates that it does not know too', async () => {
  await report('a', 50);
  setTime(WINDOW_MS);
  await report('b', 8);
  setTime(WINDOW_MS - 200_000);
  await report('b', 9, { ageMs: 10 });
  expect(await report('c', 1, { ageMs: 5 })).toMatchObject({ own: 1, others: 9 });
});

describe('the storage of a counter', () => {
  it('has nothing after one report, then the counts after each change, with one alarm at the end', async () => {
    await report('health', 0);
    await report('a', 8);
    expect(await stored()).toEqual(NOTHING);
    setTime(5_000);
    await report('a', 16, { ageMs: 5_000 });
    expect(await stored()).toEqual({
      counts: [['default windows', { a: 16 }]],
      alarmSeconds: 2 * WINDOW_SECONDS,
    });
    await report('b', 1);
    expect(await stored()).toMatchObject({ counts: [['default windows', { a: 16, b: 1 }]] });
  });

  it('outlives an eviction; what one forgot is restored by the next report', async () => {
    await report('a', 8);
    await evictDurableObject(object);
    setTime(20_000);
    await report('a', 16, { ageMs: 20_000 });
    expect(await report('b', 1)).toMatchObject({ others: 16, ageMs: 20_000 });
    await evictDurableObject(object);
    setTime(WINDOW_MS / 2);
    expect(await report('c', 1)).toMatchObject({ others: 17, ageMs: WINDOW_MS / 2 });
  });

  it('has both windows, and the latest begin, which the alarm of 1.0.0 reads', async () => {
    for (const count of [8, 16]) await report('a', count);
    setTime(WINDOW_MS);
    for (const count of [8, 16]) await report('next', count);
    await evictDurableObject(object);
    expect(await stored()).toMatchObject({
      counts: [['default windows', { a: 16 }, { next: 16 }]],
    });
    const latest = await runInDurableObject(object, (_, { storage }) =>
      storage.kv.get<{ beganAt: number }>('default windows'),
    );
    expect(latest?.beganAt).toBe(START + WINDOW_MS);
    expect((await report('b', 1, { ageMs: 59_000 })).ageMs).toBe(WINDOW_MS);
  });
});

describe('what version 1.0.0 has left', () => {
  it('a report of it, with the field that was dropped since, is counted', async () => {
    await report('a', 8);
    const reply = await report('b', 16, { formerRecord: 'none', ageMs: 5_000 });
    expect(reply).toEqual({ isGranted: false, own: 16, others: 8, ageMs: 5_000 });
  });

  it('a window that it stored is not counted, and deleted after its end', async () => {
    const { counts, ...rest } = former.counter.stored.default;
    const window = { ...rest, beganAt: START, counts: new Map(counts as [string, number][]) };
    await runInDurableObject(object, async (_, { storage }) => {
      storage.kv.put('default', window);
      await storage.setAlarm(START + WINDOW_MS);
    });
    expect(await report('b', 1)).toMatchObject({ own: 1, others: 0 });
    for (const seconds of [WINDOW_SECONDS, 2 * WINDOW_SECONDS]) {
      setTime(seconds * 1_000);
      expect(await runDurableObjectAlarm(object)).toBe(true);
    }
    const left = await runInDurableObject(object, (_, { storage }) => [...storage.kv.list()]);
    expect(left).toEqual([]);
  });
});

describe('the alarm', () => {
  async function fill(record: string, isIngest = false) {
    for (const count of [8, 16]) await report(record, count, {}, isIngest);
  }

  it('deletes nothing until a minute after the end of the last window, and is set again', async () => {
    await fill('a');
    setTime(WINDOW_MS / 2);
    await fill('a', true);
    setTime(2 * WINDOW_MS);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    const counts = ['default', 'ingest'].map((counter) => [`${counter} windows`, { a: 16 }]);
    expect(await stored()).toEqual({ counts, alarmSeconds: 2.5 * WINDOW_SECONDS });
    setTime(2.5 * WINDOW_MS);
    await runDurableObjectAlarm(object);
    expect(await stored()).toEqual(NOTHING);
    await fill('b');
    expect(await stored()).toMatchObject({ alarmSeconds: 4.5 * WINDOW_SECONDS });
  });

  it('that comes early deletes nothing, and is never set within a second: clocks differ', async () => {
    await fill('a');
    setTime(2 * WINDOW_MS - 10);
    await runDurableObjectAlarm(object);
    const counts = [['default windows', { a: 16 }]];
    expect(await stored()).toEqual({ counts, alarmSeconds: 2 * WINDOW_SECONDS + 0.99 });
  });
});
