/**
 * The counter: what it adds up, what it stores, and what an eviction and an alarm change.
 */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Place } from '../../src/rate-limit/counter-arithmetic.ts';
import { freshAddress } from '../support/http.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const SPAN_MS = 5_000;
const FIRST = START / SPAN_MS;
const LIMIT = 100;

let object: ReturnType<typeof env.RATE_COUNTER.get>;

beforeEach(() => {
  object = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(freshAddress()));
  vi.useFakeTimers({ toFake: ['Date'] });
  setSpan(0);
});

/** Sets the time to the first second of a span after the first one. */
const setSpan = (span: number, ms = 1_000) => vi.setSystemTime(START + span * SPAN_MS + ms);

/** Spans after the first one → requests. */
type Counts = Record<number, number>;

async function report(record: string, counts: Counts, asked?: Place, isIngest = false) {
  const spans = Object.entries(counts).map(([span, count]): [number, number] => [
    FIRST + Number(span),
    count,
  ]);
  const message = { record, counts: new Map(spans) };
  using reply = await object.add(isIngest ? 'ingest' : 'default', message, asked);
  const others = [...reply.others].filter(([, count]) => count > 0);
  return {
    isCounted: reply.isCounted,
    others: Object.fromEntries(others.map(([span, count]) => [span - FIRST, count])),
  };
}

/** Asks for a place in the latest span. */
const place = (record: string, counts: Counts) =>
  report(record, counts, {
    span: FIRST + Math.max(...Object.keys(counts).map(Number)),
    limit: LIMIT,
  });

/** All that has been counted: of a record that has reported nothing. */
const total = async () => (await report('none', {})).others;

type Stored = { spans: Map<number, Map<string, number>> };

/** The stored spans of each policy, and the seconds after the start at which the alarm comes. */
function stored() {
  return runInDurableObject(object, async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    const values = [...storage.kv.list<Stored>()].map(([key, { spans }]) => {
      const records = [...spans].map(([span, each]) => [span - FIRST, Object.fromEntries(each)]);
      return [key, Object.fromEntries(records)];
    });
    return { ...Object.fromEntries(values), alarm: alarm && (alarm - START) / 1_000 };
  });
}

describe('the total of a window', () => {
  it('is the sum of the greatest count of each record and span, in any order', async () => {
    await report('a', { 0: 8 });
    await report('b', { 0: 16 });
    await report('a', { 0: 24, 1: 2 });
    expect(await report('a', { 0: 16, 1: 1 })).toMatchObject({ others: { 0: 16 } });
    expect(await report('b', { 0: 17 })).toMatchObject({ others: { 0: 24, 1: 2 } });
    expect(await total()).toEqual({ 0: 41, 1: 2 });
  });

  it.each([
    [-12, {}],
    [-11, { [-11]: 8 }],
    [2, { 2: 8 }],
    [3, {}],
    [720, {}],
  ])(
    'of a report of the span %i is %o: twelve spans, and two of clocks ahead',
    async (span, all) => {
      await report('a', { [span]: 8 });
      expect(await total()).toEqual(all);
    },
  );

  it('loses a span when it leaves', async () => {
    await report('a', { 0: 60, 2: 20 });
    setSpan(11);
    expect(await place('b', { 11: 21 })).toEqual({ isCounted: false, others: { 0: 60, 2: 20 } });
    setSpan(12);
    expect(await place('b', { 12: 80 })).toEqual({ isCounted: true, others: { 2: 20 } });
  });
});

describe('a place', () => {
  it('is granted while all requests of the window are within the limit', async () => {
    await report('a', { [-3]: 50, 0: 20 });
    expect(await place('b', { [-1]: 9, 0: 20 })).toMatchObject({ isCounted: true });
    expect(await place('b', { [-1]: 9, 0: 21 })).toMatchObject({ isCounted: true });
    expect(await place('b', { [-1]: 9, 0: 22 })).toMatchObject({ isCounted: false });
    expect(await total()).toEqual({ [-3]: 50, [-1]: 9, 0: 41 });
  });

  it('that was asked for late is counted once: a later request has been reported', async () => {
    await report('a', { 0: 10 });
    await report('b', { 0: LIMIT });
    for (const number of [6, 10]) {
      expect(await place('a', { 0: number })).toMatchObject({ isCounted: true });
    }
    expect(await total()).toEqual({ 0: LIMIT + 10 });
  });

  it.each([{}, { [-12]: 1 }, { 3: 1 }, { 0: 1, 3: 1 }])(
    'of a clock that is wrong, %o, is not granted: it would not be counted',
    async (counts) => {
      await report('a', { 0: 1 });
      expect(await place('a', counts)).toMatchObject({ isCounted: false });
    },
  );

  it('is in the window of its request, which has waited over the edge of a span', async () => {
    await report('a', { [-11]: 60, 0: 40 });
    setSpan(1, 299);
    expect(await place('b', { 1: 10 })).toMatchObject({ isCounted: true });
    expect(await place('c', { 0: 1 })).toMatchObject({ isCounted: false });
  });
});

describe('the storage of a counter', () => {
  it('has nothing after one report, and confirms what it has', async () => {
    await report('health', {});
    expect(await report('a', { 0: 8 })).toMatchObject({ isCounted: false });
    expect(await stored()).toEqual({ alarm: null });
    expect(await report('a', { 0: 8 })).toMatchObject({ isCounted: true });
    expect(await stored()).toEqual({ 'default spans': { 0: { a: 8 } }, alarm: 121 });
  });

  it('has a granted place at once', async () => {
    await place('a', { 0: 1 });
    expect(await stored()).toEqual({ 'default spans': { 0: { a: 1 } }, alarm: 121 });
  });

  it('has the spans of the window after each change from the second on, with one alarm', async () => {
    await report('a', { [-11]: 8, 0: 8 });
    await report('a', { [-11]: 8, 0: 16 });
    setSpan(1);
    await report('b', { [-11]: 8, 1: 1 });
    const later = { 0: { a: 16 }, 1: { b: 1 } };
    expect(await stored()).toEqual({ 'default spans': later, alarm: 121 });
  });

  it('outlives an eviction; a forgotten count is restored by the next report', async () => {
    await report('a', { 0: 8 });
    await evictDurableObject(object);
    await report('a', { 0: 16 });
    await report('b', { 0: 1 });
    await evictDurableObject(object);
    expect(await total()).toEqual({ 0: 17 });
  });

  it('is deleted by the alarm, two minutes after the latest change of any policy', async () => {
    const fill = async (span: number, isIngest: boolean) => {
      setSpan(span);
      for (const count of [8, 16]) await report('a', { [span]: count }, undefined, isIngest);
    };
    await fill(0, false);
    await fill(6, true);
    setSpan(23);
    await runDurableObjectAlarm(object);
    const spans = { 'default spans': { 0: { a: 16 } }, 'ingest spans': { 6: { a: 16 } } };
    expect(await stored()).toEqual({ ...spans, alarm: 151 });
    setSpan(30);
    await runDurableObjectAlarm(object);
    expect(await stored()).toEqual({ alarm: null });
    await fill(30, false);
    expect(await stored()).toMatchObject({ alarm: 271 });
  });
});
