/** The totals, permits and storage of one client's counter. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { PermitRequest } from '../../src/rate-limit/counter-arithmetic.ts';
import { freshAddress } from '../support/http.ts';

const START = Date.parse('2030-01-01T00:00:00Z');
const BUCKET_MS = 5_000;
const FIRST_BUCKET = START / BUCKET_MS;
const LIMIT = 100;

let object: ReturnType<typeof env.RATE_COUNTER.get>;

beforeEach(() => {
  object = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName(freshAddress()));
  vi.useFakeTimers({ toFake: ['Date'] });
  setBucket(0);
});

/** Sets the clock to `ms` after the start of a bucket. Each test starts in bucket 0. */
const setBucket = (bucket: number, ms = 1_000) => vi.setSystemTime(START + bucket * BUCKET_MS + ms);

/** Number of requests by bucket. Buckets are numbered from the start of the test. */
type Counts = Record<number, number>;

async function report(reporter: string, counts: Counts, permit?: PermitRequest, isIngest = false) {
  const buckets = Object.entries(counts).map(([bucket, count]): [number, number] => [
    FIRST_BUCKET + Number(bucket),
    count,
  ]);
  const message = { record: reporter, counts: new Map(buckets) };
  using reply = await object.add(isIngest ? 'ingest' : 'default', message, permit);
  const others = [...reply.others].filter(([, count]) => count > 0);
  return {
    isCounted: reply.isCounted,
    others: Object.fromEntries(others.map(([bucket, count]) => [bucket - FIRST_BUCKET, count])),
  };
}

/** Reports counts, and requests a permit in the latest of their buckets. */
const requestPermit = (reporter: string, counts: Counts) =>
  report(reporter, counts, {
    span: FIRST_BUCKET + Math.max(...Object.keys(counts).map(Number)),
    limit: LIMIT,
  });

/** Returns the counts of all reporters. A reply omits the counts of its recipient, which here has none. */
const getTotal = async () => (await report('none', {})).others;

type Stored = { spans: Map<number, Map<string, number>> };

/** Returns each policy's stored buckets, and the alarm time in seconds since the start of the test. */
function readStored() {
  return runInDurableObject(object, async (_, { storage }) => {
    const alarm = await storage.getAlarm();
    const values = [...storage.kv.list<Stored>()].map(([key, { spans }]) => {
      const buckets = [...spans].map(([bucket, reporters]) => [
        bucket - FIRST_BUCKET,
        Object.fromEntries(reporters),
      ]);
      return [key, Object.fromEntries(buckets)];
    });
    return { ...Object.fromEntries(values), alarm: alarm && (alarm - START) / 1_000 };
  });
}

describe('the total of a window', () => {
  it('is the sum of the largest count per reporter and bucket, regardless of report order', async () => {
    await report('a', { 0: 8 });
    await report('b', { 0: 16 });
    await report('a', { 0: 24, 1: 2 });
    expect(await report('a', { 0: 16, 1: 1 })).toMatchObject({ others: { 0: 16 } });
    expect(await report('b', { 0: 17 })).toMatchObject({ others: { 0: 24, 1: 2 } });
    expect(await getTotal()).toEqual({ 0: 41, 1: 2 });
  });

  // The clock of an isolate may be up to two buckets behind or ahead.
  it.each([
    [-14, {}],
    [-13, { [-13]: 8 }],
    [2, { 2: 8 }],
    [3, {}],
    [720, {}],
  ])('includes a report only if its bucket is accepted (%i → %o)', async (bucket, total) => {
    await report('a', { [bucket]: 8 });
    expect(await getTotal()).toEqual(total);
  });

  it('drops a bucket 10.3 s after it has left the window', async () => {
    await report('a', { 0: 60, 2: 20 });
    setBucket(14, 299);
    expect(await getTotal()).toEqual({ 0: 60, 2: 20 });
    setBucket(14, 300);
    expect(await getTotal()).toEqual({ 2: 20 });
  });
});

describe('a permit', () => {
  it('is granted while the requests in the window are within the limit', async () => {
    await report('a', { [-3]: 50, 0: 20 });
    expect(await requestPermit('b', { [-1]: 9, 0: 20 })).toMatchObject({ isCounted: true });
    expect(await requestPermit('b', { [-1]: 9, 0: 21 })).toMatchObject({ isCounted: true });
    expect(await requestPermit('b', { [-1]: 9, 0: 22 })).toMatchObject({ isCounted: false });
    expect(await getTotal()).toEqual({ [-3]: 50, [-1]: 9, 0: 41 });
  });

  it('is counted once if a later message has overtaken its request', async () => {
    await report('a', { 0: 10 });
    await report('b', { 0: LIMIT });
    for (const count of [6, 10]) {
      expect(await requestPermit('a', { 0: count })).toMatchObject({ isCounted: true });
    }
    expect(await getTotal()).toEqual({ 0: LIMIT + 10 });
  });

  it.each([{}, { [-14]: 1 }, { 3: 1 }, { 0: 1, 3: 1 }])(
    'is denied for a bucket that the counter does not accept (%o)',
    async (counts) => {
      await report('a', { 0: 1 });
      expect(await requestPermit('a', counts)).toMatchObject({ isCounted: false });
    },
  );
});

describe('the storage of a counter', () => {
  it('stays empty until the second report, which is acknowledged', async () => {
    await report('health', {});
    expect(await report('a', { 0: 8 })).toMatchObject({ isCounted: false });
    expect(await readStored()).toEqual({ alarm: null });
    expect(await report('a', { 0: 8 })).toMatchObject({ isCounted: true });
    expect(await readStored()).toEqual({ 'default spans': { 0: { a: 8 } }, alarm: 121 });
  });

  it('contains a granted permit immediately', async () => {
    await requestPermit('a', { 0: 1 });
    expect(await readStored()).toEqual({ 'default spans': { 0: { a: 1 } }, alarm: 121 });
  });

  it('is updated with the accepted buckets after each later change', async () => {
    await report('a', { [-13]: 8, 0: 8 });
    await report('a', { [-13]: 8, 0: 16 });
    setBucket(1);
    await report('b', { [-13]: 8, 1: 1 });
    const buckets = { 0: { a: 16 }, 1: { b: 1 } };
    expect(await readStored()).toEqual({ 'default spans': buckets, alarm: 121 });
  });

  it('survives an eviction', async () => {
    await report('a', { 0: 8 });
    await evictDurableObject(object);
    await report('a', { 0: 16 });
    await report('b', { 0: 1 });
    await evictDurableObject(object);
    expect(await getTotal()).toEqual({ 0: 17 });
  });

  it('is deleted by an alarm two minutes after the last change', async () => {
    const fill = async (bucket: number, isIngest: boolean) => {
      setBucket(bucket);
      for (const count of [8, 16]) await report('a', { [bucket]: count }, undefined, isIngest);
    };
    await fill(0, false);
    await fill(6, true);
    setBucket(23);
    await runDurableObjectAlarm(object);
    const buckets = { 'default spans': { 0: { a: 16 } }, 'ingest spans': { 6: { a: 16 } } };
    expect(await readStored()).toEqual({ ...buckets, alarm: 151 });
    setBucket(30);
    await runDurableObjectAlarm(object);
    expect(await readStored()).toEqual({ alarm: null });
    await fill(30, false);
    expect(await readStored()).toMatchObject({ alarm: 271 });
  });
});
