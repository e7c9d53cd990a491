/** The object that counts: what it stores, what an eviction forgets, what an alarm leaves. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { freshAddress, sendWith } from '../support/http.ts';

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

/** GETs a path that costs nothing, through an isolate that knows no offender yet; the count that it was told. */
async function hit(client: string, method = 'GET', path = '/api/none') {
  const headers = { 'CF-Connecting-IP': client };
  const response = await sendWith({}, path, { method, headers }, createApp());
  return `${response.status} ${response.headers.get('X-RateLimit-Remaining')}`;
}

async function hits(count: number, client: string) {
  const told: string[] = [];
  for (let index = 0; index < count; index += 1) told.push(await hit(client));
  return told.at(-1);
}

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

describe('what is stored', () => {
  it('is nothing before the fifth hit, then every fifth, with an alarm at the end of the window', async () => {
    const client = freshAddress();
    await hits(4, client);
    expect(await storedIn(client)).toEqual({ windows: {}, alarmSeconds: null });
    await hits(5, client);
    expect(await storedIn(client)).toEqual({
      windows: { default: { startedAt: START, hits: 5 } },
      alarmSeconds: 60,
    });
    await hits(1, client);
    expect((await storedIn(client)).windows).toEqual({ default: { startedAt: START, hits: 10 } });
  });

  it('is the full window too', async () => {
    const client = freshAddress();
    const counter = objectOf(client);
    for (let index = 0; index < 7; index += 1) await counter.count('default', 7);
    expect((await storedIn(client)).windows).toEqual({ default: { startedAt: START, hits: 7 } });
  });

  it('is nothing for a request that is refused', async () => {
    const client = freshAddress();
    const counter = objectOf(client);
    expect(await counter.count('default', 0)).toMatchObject({
      outcome: 'refused',
      limit: 0,
      remaining: 0,
      resetMs: 60_000,
    });
    expect((await storedIn(client)).windows).toEqual({});
  });
});

describe('a Worker of the version before', () => {
  it('reads the count in digits', async () => {
    const counter = objectOf(freshAddress());
    // remaining × 120,000 + milliseconds until the reset; below 0 when refused.
    expect(await counter.hit('default', 2)).toBe(1 * 120_000 + 60_000);
    vi.setSystemTime(START + 1_000);
    expect(await counter.hit('default', 2)).toBe(59_000);
    expect(await counter.hit('default', 2)).toBe(-59_000);
  });
});

describe('an eviction', () => {
  it.each([
    [9, '404 94'],
    [10, '404 89'],
    [14, '404 89'],
  ])('after %i hits forgets at most four', async (count, next) => {
    const client = freshAddress();
    await hits(count, client);
    vi.setSystemTime(START + 30_000);
    await evictDurableObject(objectOf(client));
    expect(await hit(client)).toBe(next);
  });

  it('never forgets that the window is full, until it is over', async () => {
    const client = freshAddress();
    expect(await hits(100, client)).toBe('404 0');
    await evictDurableObject(objectOf(client));
    vi.setSystemTime(START + 59_999);
    expect(await hit(client)).toBe('429 0');
    vi.setSystemTime(START + 60_000);
    expect(await hit(client)).toBe('404 99');
  });

  it('does not lengthen the window', async () => {
    const client = freshAddress();
    await hits(5, client);
    vi.setSystemTime(START + 40_000);
    await evictDurableObject(objectOf(client));
    const headers = { 'CF-Connecting-IP': client };
    const response = await sendWith({}, '/api/none', { headers });
    expect(response.headers.get('RateLimit')).toBe('"default";r=94;t=20');
  });
});

describe('the alarm', () => {
  it('leaves an idle object empty', async () => {
    const client = freshAddress();
    await hits(5, client);
    vi.setSystemTime(START + 60_000);
    expect(await runDurableObjectAlarm(objectOf(client))).toBe(true);
    expect(await storedIn(client)).toEqual({ windows: {}, alarmSeconds: null });
  });

  it('deletes only a window that is over, and comes again for the other', async () => {
    const client = freshAddress();
    const counter = objectOf(client);
    await hits(5, client);
    vi.setSystemTime(START + 30_000);
    for (let index = 0; index < 5; index += 1) await counter.count('ingest', 200);
    vi.setSystemTime(START + 60_000);
    await runDurableObjectAlarm(counter);
    expect(await storedIn(client)).toEqual({
      windows: { ingest: { startedAt: START + 30_000, hits: 5 } },
      alarmSeconds: 90,
    });
    vi.setSystemTime(START + 90_000);
    await runDurableObjectAlarm(counter);
    expect(await storedIn(client)).toEqual({ windows: {}, alarmSeconds: null });
  });

  it('that comes early forgets nothing', async () => {
    const client = freshAddress();
    await hits(100, client);
    vi.setSystemTime(START + 59_000);
    await runDurableObjectAlarm(objectOf(client));
    await evictDurableObject(objectOf(client));
    expect(await hit(client)).toBe('429 0');
    expect((await storedIn(client)).alarmSeconds).toBe(60);
  });

  it('is set again for the window after', async () => {
    const client = freshAddress();
    await hits(5, client);
    vi.setSystemTime(START + 60_000);
    await runDurableObjectAlarm(objectOf(client));
    await hits(5, client);
    expect(await storedIn(client)).toEqual({
      windows: { default: { startedAt: START + 60_000, hits: 5 } },
      alarmSeconds: 120,
    });
  });
});

it('counts both counters of a client apart', async () => {
  const client = freshAddress();
  expect(await hit(client, 'POST', '/api/public/events/ingest')).toMatch(/ 199$/);
  expect(await hit(client)).toBe('404 99');
});
