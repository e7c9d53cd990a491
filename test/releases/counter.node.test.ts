/**
 * The counters and isolates of the release before and of today: over one storage, because a
 * deployment, or its undoing, replaces a counter that has stored a state; and as each other's callers.
 */

import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { bundleSource, type Instance, type Service } from '../simulation/bundle.ts';
import { TEST_VARS } from '../support/vars.ts';
import { readFixture } from './release.ts';

const START = Date.parse('2030-01-01T00:00:00Z');

type Version = '1.0.0' | 'today';
let services: Record<Version, Service>;

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
  const { RateCounter } = services[version];
  return new RateCounter({ storage, waitUntil: () => {} }, {});
}

/** Starts an isolate of a client with a limit of 100. Returns how many of its requests pass. */
function isolateOf(version: Version, counter: Instance): (requests: number) => Promise<number> {
  const call =
    (method: string) =>
    async (...values: unknown[]) => {
      if (counter[method] === undefined) throw new TypeError(`no method ${method}`);
      return { ...Object(counter[method](...values)), [Symbol.dispose]: () => {} };
    };
  const stub = { add: call('add'), report: call('report') };
  const RATE_COUNTER = { idFromName: (name: string) => name, get: () => stub };
  const env = { ...TEST_VARS, RATE_LIMIT_DEFAULT: '100', RATE_COUNTER };
  const service = services[version];
  const app = service.default ?? service.createApp();
  return async (requests) => {
    let passed = 0;
    for (let sent = 0; sent < requests; sent += 1) {
      const request = new Request('https://api.example.com/api/none');
      const { status } = await app.fetch(request, env, { waitUntil: () => {} });
      if (status !== 429) passed += 1;
    }
    return passed;
  };
}

/** Lets the alarm of a version come. Returns whether anything is stored still. */
async function ring(version: Version, seconds: number): Promise<boolean> {
  vi.setSystemTime(START + seconds * 1_000);
  await start(version).alarm?.();
  return entries.size > 0;
}

beforeAll(async () => {
  const former = await bundleSource(undefined, readFixture('worker.js').toString());
  const globals = { console: { log: () => {}, error: () => {} } };
  const today = await bundleSource();
  services = { '1.0.0': former(globals), today: today(globals) };
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

it('a client of two isolates gets its places from a counter of 1.0.0, and little more at once', async () => {
  const counter = start('1.0.0');
  const [one, other] = [isolateOf('today', counter), isolateOf('today', counter)];
  const passed = (await one(70)) + (await other(70));
  expect(passed).toBeGreaterThanOrEqual(100);
  expect(passed).toBeLessThanOrEqual(120);
  for (let minute = 1; minute < 4; minute += 1) {
    vi.setSystemTime(START + minute * 65_000);
    expect((await one(70)) + (await other(70))).toBeGreaterThanOrEqual(100);
  }
});

it('no request of an isolate of 1.0.0 counts twice, whatever spans its reports are in', async () => {
  const counter = start('today');
  const [one, other] = [isolateOf('1.0.0', counter), isolateOf('today', counter)];
  for (const seconds of [0, 4, 9, 16]) {
    vi.setSystemTime(START + seconds * 1_000);
    expect(await one(16)).toBe(16);
  }
  expect(await other(60)).toBe(100 - 64);
});
