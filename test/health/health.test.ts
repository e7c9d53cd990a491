import {
  createExecutionContext,
  runInDurableObject,
  waitOnExecutionContext,
} from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import * as z from 'zod';
import packageJson from '../../package.json';
import { createApp } from '../../src/app.ts';
import { detailedHealth, downHealth, health } from '../../src/health/resource.ts';
import { expectDocumented, expectStatus, freshAddress, send, sendWith } from '../support/http.ts';

const DETAILED = '/api/health/detailed';
const SECRET = 'no such host db-7.internal';

const never = () => new Promise<never>(() => {});
const fail = async () => {
  throw new Error(SECRET);
};

function brokenDatabase(call: () => Promise<unknown>) {
  const statement = { first: call };
  return { prepare: () => statement } as unknown as D1Database;
}

function brokenCache(call: () => Promise<unknown>) {
  return { get: call } as unknown as KVNamespace;
}

function brokenCounter(call: () => Promise<unknown>) {
  const binding = { idFromName: (name: string) => name, get: () => ({ grant: call }) };
  return binding as unknown as Env['RATE_COUNTER'];
}

let log: MockInstance<typeof console.error>;

beforeEach(() => {
  log = vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function read(changes: Partial<Env>) {
  const response = await sendWith(changes, DETAILED);
  const text = await response.text();
  const body = z.union([detailedHealth, downHealth]).parse(JSON.parse(text));
  const { database, idempotency_cache, rate_limiter } = body.dependencies;
  const states = [database.status, idempotency_cache.status, rate_limiter.status].join(' ');
  return { response, text, body, states };
}

describe('GET /api/health', () => {
  it('answers without credentials', async () => {
    const response = await send('/api/health', { headers: { 'x-api-key': 'wrong' } });
    await expectStatus(response, 200);
    const body = health.parse(await response.json());
    expect(body).toMatchObject({ object: 'health', status: 'ok', version: packageJson.version });
    expect(Math.abs(Date.now() - Date.parse(body.timestamp))).toBeLessThan(5_000);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('X-RateLimit-Remaining')).toMatch(/^\d\d$/);
  });

  it('asks no dependency', async () => {
    const response = await sendWith(
      { DB: brokenDatabase(fail), IDEMPOTENCY: brokenCache(fail) },
      '/api/health',
    );
    await expectStatus(response, 200);
  });
});

describe('GET /api/health/detailed', () => {
  it('adds the state of each dependency', async () => {
    const { response, body, states } = await read({});
    await expectStatus(response, 200);
    expect([body.status, states]).toEqual(['ok', 'ok ok ok']);
  });

  it('is degraded when a dependency other than the database fails', async () => {
    const cache = await read({ IDEMPOTENCY: brokenCache(fail) });
    await expectStatus(cache.response, 200);
    expect([cache.body.status, cache.states]).toEqual(['degraded', 'ok down ok']);
    const counter = await read({ RATE_COUNTER: brokenCounter(fail) });
    await expectStatus(counter.response, 200);
    expect([counter.body.status, counter.states]).toEqual(['degraded', 'ok ok down']);
  });

  it('is a 503 with both bodies when the database fails', async () => {
    const { response, body, states } = await read({ DB: brokenDatabase(fail) });
    expect(response.status).toBe(503);
    expect([body.status, states]).toEqual(['down', 'down ok ok']);
    expect(body).toMatchObject({
      object: 'health',
      version: packageJson.version,
      statusCode: 503,
      path: DETAILED,
      method: 'GET',
      error: {
        type: 'api_error',
        code: 'service_unavailable',
        request_id: response.headers.get('X-Request-ID'),
      },
    });
    expect(response.headers.get('X-Should-Retry')).toBe('true');
    expect(response.headers.get('Retry-After')).toBe('5');
    expect(response.headers.get('X-RateLimit-Remaining')).toMatch(/^\d\d$/);
  });

  it('names the running version', async () => {
    const CF_VERSION_METADATA = {
      id: 'b7c2',
      tag: '3e21b28c90a4',
      timestamp: '2026-11-21T00:00:00Z',
    };
    const { body } = await read({ CF_VERSION_METADATA });
    expect(body.deployment).toEqual({ id: 'b7c2', tag: '3e21b28c90a4' });
  });

  it('is down while the database lacks a table or a column of this version', async () => {
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

  it('shows no text of a fault, and logs it', async () => {
    const { text } = await read({
      DB: brokenDatabase(fail),
      IDEMPOTENCY: brokenCache(fail),
      RATE_COUNTER: brokenCounter(fail),
    });
    expect(text).not.toContain(SECRET);
    expect(log.mock.calls.flat().join()).toContain(SECRET);
  });

  it('checks all dependencies side by side', async () => {
    const startedAt = performance.now();
    const { states } = await read({
      DB: brokenDatabase(never),
      IDEMPOTENCY: brokenCache(never),
      RATE_COUNTER: brokenCounter(never),
    });
    expect(states).toBe('down down down');
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it('checks once in 5 seconds', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const look = vi.fn(async () => null);
    const bindings = { ...env, IDEMPOTENCY: brokenCache(look) };
    const app = createApp();
    const ask = async () => {
      const request = new Request(`https://api.example.com${DETAILED}`);
      const ctx = createExecutionContext();
      const response = await app.fetch(request, bindings, ctx);
      await expectDocumented(request, response);
      await expectStatus(response, 200);
      await waitOnExecutionContext(ctx);
    };
    await ask();
    vi.setSystemTime(Date.now() + 4_999);
    await ask();
    expect(look).toHaveBeenCalledTimes(1);
    vi.setSystemTime(Date.now() + 1);
    await ask();
    expect(look).toHaveBeenCalledTimes(2);
  });

  it('does not wait for the check of another request, which may have been cancelled', async () => {
    const look = vi.fn<() => Promise<null>>(async () => null).mockImplementationOnce(never);
    const bindings = { ...env, IDEMPOTENCY: brokenCache(look) };
    const app = createApp();
    const ask = () => {
      const headers = { 'CF-Connecting-IP': freshAddress() };
      const request = new Request(`https://api.example.com${DETAILED}`, { headers });
      return app.fetch(request, bindings, createExecutionContext());
    };
    const first = ask();
    await vi.waitFor(() => expect(look).toHaveBeenCalledOnce());
    expect(await (await ask()).json()).toMatchObject({ status: 'ok' });
    expect(await (await first).json()).toMatchObject({ status: 'degraded' });
  });

  it("disposes of the counter's reply", async () => {
    const dispose = vi.fn();
    const reply = { isGranted: false, own: 0, others: 0, ageMs: 0, [Symbol.dispose]: dispose };
    const stub = { report: async () => reply };
    const binding = { idFromName: (name: string) => name, get: () => stub };
    const { states } = await read({ RATE_COUNTER: binding as unknown as Env['RATE_COUNTER'] });
    expect(states).toBe('ok ok ok');
    expect(dispose).toHaveBeenCalledOnce();
  });

  it('stores nothing at the counter', async () => {
    await read({});
    const counter = env.RATE_COUNTER.get(env.RATE_COUNTER.idFromName('health'));
    const stored = await runInDurableObject(counter, async (_, { storage }) => [
      [...storage.kv.list()],
      await storage.getAlarm(),
    ]);
    expect(stored).toEqual([[], null]);
  });
});
