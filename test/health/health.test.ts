import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import packageJson from '../../package.json';
import { createApp } from '../../src/app.ts';
import { detailedHealth, downHealth, health } from '../../src/health/openapi/health.ts';
import { failingD1 } from '../support/faults.ts';
import { expectStatus, sendWith } from '../support/http.ts';
import { interceptMethods, interceptObjects } from '../support/interceptor.ts';
import { watchLog } from '../support/log.ts';

const DETAILED = '/api/health/detailed';
const SECRET = 'no such host db-7.internal';

const never = () => new Promise<never>(() => {});
const fail = async () => {
  throw new Error(SECRET);
};

const DB = failingD1(env.DB, { message: SECRET });

/** Returns KV and counter bindings whose methods all run `call`. */
function brokenBy(call: () => Promise<unknown>) {
  return {
    IDEMPOTENCY: interceptMethods(env.IDEMPOTENCY, call),
    RATE_COUNTER: interceptObjects(env.RATE_COUNTER, call),
  };
}

async function read(changes: Partial<Env>) {
  const response = await sendWith(changes, DETAILED);
  const text = await response.text();
  const body = z.union([detailedHealth, downHealth]).parse(JSON.parse(text));
  const { database, idempotency_cache, rate_limiter } = body.dependencies;
  const states = [database.status, idempotency_cache.status, rate_limiter.status].join(' ');
  return { response, text, body, states };
}

/** Starts an isolate whose KV calls run `look`. Returns a function that sends a request to the isolate. */
function isolateWith(look: () => Promise<unknown>) {
  const { IDEMPOTENCY } = brokenBy(look);
  const app = createApp();
  return () => sendWith({ IDEMPOTENCY }, DETAILED, {}, app);
}

// test/faults.test.ts proves that this operation calls no dependency.
it('returns the version at GET /api/health, even for an invalid key', async () => {
  const response = await sendWith({}, '/api/health', { headers: { 'x-api-key': 'x' } });
  await expectStatus(response, 200);
  const body = health.parse(await response.json());
  expect(body).toMatchObject({ object: 'health', status: 'ok', version: packageJson.version });
});

describe('GET /api/health/detailed', () => {
  it.each([
    ['ok', 'ok ok ok', {}],
    ['degraded', 'ok down ok', { IDEMPOTENCY: brokenBy(fail).IDEMPOTENCY }],
    ['degraded', 'ok ok down', { RATE_COUNTER: brokenBy(fail).RATE_COUNTER }],
  ])('reports %s when the dependencies are %s', async (status, expected, changes) => {
    const { response, body, states } = await read(changes);
    await expectStatus(response, 200);
    expect([body.status, states]).toEqual([status, expected]);
  });

  it("reports the running version without retaining the counter's reply", async () => {
    const dispose = vi.fn();
    const { RATE_COUNTER } = brokenBy(async () => ({ [Symbol.dispose]: dispose }));
    const CF_VERSION_METADATA = { id: 'b7c2', tag: '3e21b28c90a4', timestamp: '2026-11-21' };
    const { body } = await read({ CF_VERSION_METADATA, RATE_COUNTER });
    expect(body.deployment).toEqual({ id: 'b7c2', tag: '3e21b28c90a4' });
    expect(dispose).toHaveBeenCalledOnce();
  });

  it('returns a 503 whose cause appears only in the log', async () => {
    const faults = watchLog('error');
    const { response, text, body, states } = await read({ DB });
    expect(text).not.toContain(SECRET);
    expect(JSON.stringify(faults())).toContain(SECRET);
    expect([body.status, states]).toEqual(['down', 'down ok ok']);
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toBe('5');
    expect(response.headers.get('X-Should-Retry')).toBe('true');
    const error = { type: 'api_error', code: 'service_unavailable' };
    expect(body).toMatchObject({ object: 'health', error });
  });

  it('reports down while a required table or column is missing', async () => {
    const { results } = await env.DB.prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
       AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations'`,
    ).all<{ name: string }>();
    expect(results.length).toBeGreaterThanOrEqual(5);
    for (const { name } of results) {
      await env.DB.exec(`ALTER TABLE ${name} RENAME TO away`);
      const { body } = await read({});
      await env.DB.exec(`ALTER TABLE away RENAME TO ${name}`);
      expect([name, body.status]).toEqual([name, 'down']);
    }
    await env.DB.exec('ALTER TABLE events RENAME COLUMN receipt TO away');
    const { body } = await read({});
    await env.DB.exec('ALTER TABLE events RENAME COLUMN away TO receipt');
    expect(body.status).toBe('down');
  });

  it('checks the dependencies at most once every 5 seconds', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const look = vi.fn(async () => null);
    const ask = isolateWith(look);
    const looksAfter = async (milliseconds: number) => {
      vi.setSystemTime(Date.now() + milliseconds);
      await expectStatus(await ask(), 200);
      return look.mock.calls.length;
    };
    expect([await looksAfter(0), await looksAfter(4_999), await looksAfter(1)]).toEqual([1, 1, 2]);
  });

  it("does not wait for another request's check, which may have been cancelled", async () => {
    const look = vi.fn<() => Promise<null>>(async () => null).mockImplementationOnce(never);
    const ask = isolateWith(look);
    const first = ask();
    await vi.waitFor(() => expect(look).toHaveBeenCalledOnce());
    expect(await (await ask()).json()).toMatchObject({ status: 'ok' });
    expect(await (await first).json()).toMatchObject({ status: 'degraded' });
  });
});
