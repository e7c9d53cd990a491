/**
 * The counter: what it adds up, what it stores, and what an eviction and an alarm change.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
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

/** Reports a count of a record, whose window began at `beganAt` after the start of the test. */
async function report(record: string, count: number, more: object = {}, isIngest = false) {
  const message = { record, count, beganAt: Date.now(), wantsPlace: false, ...more };
  using reply = await object.count(isIngest ? 'ingest' : 'default', LIMIT, message);
  const { isGranted, own, others, beganAt } = reply;
  return { isGranted, own, others, beganAt: beganAt - START };
}

const at = (ms: number) => ({ beganAt: START + ms });
const place = { wantsPlace: true };

type Stored = { counts: Map<string, number>; countsBefore: Map<string, number> };

/** The stored counts of each policy with those of the window before, and the alarm in seconds. */
function stored() {
  return runInDurableObject(object, async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    return {
      counts: [...storage.kv.list<Stored>()].map(([key, { counts, countsBefore }]) => [
        key,
        Object.fromEntries(counts),
        Object.fromEntries(countsBefore),
      ]),
      alarmSeconds: alarm === null ? null : (alarm - START) / 1_000,
    };
  });
}

const NOTHING = { counts: [], alarmSeconds: null };

describe('the total of a window', () => {
  it('is the sum of the greatest count of each record, in any order', async () => {
    await report('a', 8);
    await report('b', 16);
    await report('a', 24);
    expect(await report('a', 16)).toMatchObject({ own: 24, others: 16 });
    expect(await report('a', 24)).toMatchObject({ own: 24, others: 16 });
    expect(await report('b', 17)).toMatchObject({ own: 17, others: 24 });
  });

  it('is separate for each policy', async () => {
    await report('a', 24);
    expect(await report('b', 3, {}, true)).toMatchObject({ own: 3, others: 0 });
  });

  it('has a place while it is below the limit', async () => {
    await report('a', 70);
    expect(await report('b', 29, place)).toMatchObject({ isGranted: true, own: 29 });
    expect(await report('b', 30, place)).toMatchObject({ isGranted: true, own: 30 });
    expect(await report('b', 31, place)).toMatchObject({ isGranted: false, own: 30 });
  });

  it('counts a place that was asked for late once: its request has been reported', async () => {
    await report('a', 10);
    await report('b', LIMIT);
    for (const number of [6, 10]) {
      expect(await report('a', number, place)).toMatchObject({ isGranted: true, own: 10 });
    }
    expect(await report('b', 0)).toMatchObject({ others: 10 });
  });
});

describe('the first window', () => {
  it('begins when the window of its first report did', async () => {
    setTime(30_000);
    expect(await report('a', 8, at(5_000))).toMatchObject({ beganAt: 5_000 });
  });

  it('begins with the earliest window of its reports: a counter forgets', async () => {
    setTime(30_000);
    await report('a', 8, at(15_000));
    expect(await report('b', 8, at(5_000))).toMatchObject({ others: 8, beganAt: 5_000 });
    setTime(65_000);
    expect(await report('c', 8, at(15_000))).toMatchObject({ others: 0, beganAt: 65_000 });
  });

  it('never begins after the report has arrived: clocks differ', async () => {
    expect(await report('a', 8, at(1_500))).toMatchObject({ beganAt: 0 });
  });

  it.each([
    [2 * WINDOW_MS, -2 * WINDOW_MS],
    [2 * WINDOW_MS + 1, 0],
  ])(
    'of a begin %i ms ago begins at %i: a clock with a larger error is not used',
    async (age, ms) => {
      expect(await report('a', 8, at(-age))).toMatchObject({ beganAt: ms });
    },
  );
});

describe('the next window', () => {
  // The last one begins at 0 s with 50 requests of `a`.
  beforeEach(() => report('a', 50));

  it.each([
    ['a report at 60 s', 60_000, 20_000],
    ['a report of a window that began 50 s after the last one', 50_000, 50_000],
  ])('begins with %s', async (_, now, beganAt) => {
    setTime(now - 1);
    expect(await report('c', 1, at(beganAt - 1))).toMatchObject({ others: 50, beganAt: 0 });
    setTime(now);
    expect(await report('b', 8, at(beganAt))).toMatchObject({ others: 0, beganAt: now });
  });

  it.each([
    ['at the end of the last one', 10_000, 60_000],
    ['with the window of the report, if this began later', 65_000, 65_000],
  ])('begins %s', async (_, recordBeganAt, beganAt) => {
    setTime(70_000);
    expect(await report('b', 8, at(recordBeganAt))).toMatchObject({ beganAt });
  });

  it('has the requests of a record that the last one has not counted', async () => {
    await report('a', 60, at(20_000));
    setTime(75_000);
    // `b` has 60 places in this window. Of the 100 requests of `a`, 60 were in the last window.
    await report('b', 60, at(61_000));
    expect(await report('a', 100, { ...place, ...at(20_000) })).toEqual({
      isGranted: true,
      own: 100,
      others: 60,
      beganAt: 61_000,
    });
    expect(await report('a', 101, { ...place, ...at(20_000) })).toMatchObject({ isGranted: false });
    expect(await report('b', 60)).toMatchObject({ others: 40 });
  });

  it('has no request of a window that ended before it began', async () => {
    setTime(60_000);
    await report('next', 8, at(60_000));
    // Sent before 60 s: they are in the window before, which began at 0 s and has 100 places.
    const before = { isGranted: true, beganAt: 0 };
    expect(await report('a', 90, { ...place, ...at(0) })).toMatchObject({ ...before, own: 90 });
    expect(await report('b', 10, { ...place, ...at(5_000) })).toMatchObject(before);
    expect(await report('b', 11, { ...place, ...at(5_000) })).toMatchObject({ isGranted: false });
    expect(await report('next', 9, at(60_000))).toMatchObject({ own: 9, others: 0 });
    // This window goes on until 65,001 ms.
    expect(await report('c', 1, at(5_001))).toMatchObject({ own: 1, others: 9 });
  });

  it('begins anew after a pause of 50 s: no report can be of the window before', async () => {
    setTime(109_999);
    await report('b', 1);
    expect(await report('c', 1, at(50_000))).toMatchObject({ others: 50 });
    setTime(219_999);
    await report('d', 1);
    expect(await report('e', 1, at(160_000))).toMatchObject({ others: 0 });
  });

  it('begins when the clock was set back by a window', async () => {
    setTime(-WINDOW_MS);
    expect(await report('b', 8)).toMatchObject({ others: 0, beganAt: -WINDOW_MS });
    expect(await report('c', 8)).toMatchObject({ others: 8 });
  });
});

describe('the storage of a counter', () => {
  it('has nothing after one report', async () => {
    await report('health', 0);
    await report('a', 8);
    expect(await stored()).toEqual(NOTHING);
  });

  it('has the counts after each change from the second on, with one alarm', async () => {
    await report('a', 8);
    setTime(5_000);
    await report('a', 16, at(0));
    const alarmSeconds = 2 * WINDOW_SECONDS;
    expect(await stored()).toEqual({ counts: [['default window', { a: 16 }, {}]], alarmSeconds });
    await report('b', 1);
    const counts = [['default window', { a: 16, b: 1 }, {}]];
    expect(await stored()).toEqual({ counts, alarmSeconds });
  });

  it('outlives an eviction; a forgotten count is restored by the next report', async () => {
    await report('a', 8);
    await evictDurableObject(object);
    setTime(20_000);
    await report('a', 16, at(0));
    expect(await report('b', 1)).toMatchObject({ others: 16, beganAt: 0 });
    await evictDurableObject(object);
    setTime(WINDOW_MS / 2);
    expect(await report('c', 1)).toMatchObject({ others: 17, beganAt: 0 });
  });

  it('has the counts of the window before', async () => {
    for (const count of [8, 16]) await report('a', count);
    setTime(WINDOW_MS);
    for (const count of [8, 16]) await report('next', count);
    await evictDurableObject(object);
    expect(await stored()).toMatchObject({ counts: [['default window', { next: 16 }, { a: 16 }]] });
    expect(await report('b', 1, at(1_000))).toMatchObject({ others: 16 });
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
    const counts = ['default', 'ingest'].map((policy) => [`${policy} window`, { a: 16 }, {}]);
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
    const counts = [['default window', { a: 16 }, {}]];
    expect(await stored()).toEqual({ counts, alarmSeconds: 2 * WINDOW_SECONDS + 0.99 });
  });
});
