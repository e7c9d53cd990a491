/**
 * The counters of the release before and of today over one storage: a deployment, or its undoing,
 * replaces a counter that has stored a window.
 */

import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { bundleSource, type Instance, type Service } from '../simulation/bundle.ts';
import { readFixture } from './release.ts';

const START = Date.parse('2030-01-01T00:00:00Z');

type Version = '1.0.0' | 'today';
const services = new Map<Version, Service>();

const entries = new Map<string, unknown>();
let alarmAt: number | undefined;
const storage = {
  kv: {
    get: (key: string) => structuredClone(entries.get(key)),
    put: (key: string, value: unknown) => void entries.set(key, structuredClone(value)),
    list: () => [...entries],
  },
  setAlarm: async (at: number) => {
    alarmAt = at;
  },
  deleteAll: async () => entries.clear(),
};

/** Starts a counter, which has only the storage of the one before. */
function start(version: Version): Instance {
  const service = services.get(version);
  if (service === undefined) throw new Error(`${version} is not loaded`);
  return new service.RateCounter({ storage, waitUntil: () => {} }, {});
}

/** Lets the alarm of a version come. Returns whether anything is stored still. */
async function ring(version: Version, seconds: number): Promise<boolean> {
  vi.setSystemTime(START + seconds * 1_000);
  await start(version).alarm?.();
  return entries.size > 0;
}

beforeAll(async () => {
  const former = await bundleSource(undefined, readFixture('worker.js').toString());
  services.set('1.0.0', former({}));
  services.set('today', (await bundleSource())({}));
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: START });
  entries.clear();
  alarmAt = undefined;
});

it.each<[Version, Version]>([
  ['1.0.0', 'today'],
  ['today', '1.0.0'],
])('the alarm of %s deletes what %s has stored, after its end', async (reader, writer) => {
  const counter = start(writer);
  for (const count of [8, 16]) {
    const report = { record: 'a', count, ageMs: 0, wantsPlace: false };
    expect(counter.report?.('default', 100, report)).toMatchObject({ own: count, others: 0 });
  }
  expect(entries.size).toBe(1);
  expect(alarmAt).toBeGreaterThan(START);
  expect(await ring(reader, 30)).toBe(true);
  expect(await ring(reader, 120)).toBe(false);
});
