/** The responses and headers of the rate limit, as callers see them. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { delayD1 } from '../support/faults.ts';
import { expectError, expectStatus, freshAddress, send, sendWith } from '../support/http.ts';
import { WINDOW_SECONDS } from '../support/vars.ts';

const LIST = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';

function sendFrom(address: string, path = '/api/health', init: RequestInit = {}) {
  return send(path, {
    ...init,
    headers: { ...(init.headers as Record<string, string>), 'CF-Connecting-IP': address },
  });
}

function getLimitHeaders({ headers }: Response) {
  const names = ['Limit', 'Remaining', 'Reset'].map((name) => `X-RateLimit-${name}`);
  return [...names, 'RateLimit-Policy', 'RateLimit', 'Retry-After'].map((name) =>
    headers.get(name),
  );
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00.250Z') });
});

function advanceSeconds(seconds: number) {
  vi.setSystemTime(Date.now() + seconds * 1_000);
}

describe('the default limit', () => {
  it('sends both families of rate-limit headers until it returns 429', async () => {
    const address = freshAddress();
    const at = async (seconds: number) => {
      advanceSeconds(seconds);
      return getLimitHeaders(await sendFrom(address));
    };
    const expected = (remaining: number, reset: number) => {
      const policy = `"default";q=100;w=${WINDOW_SECONDS}`;
      const state = `"default";r=${remaining};t=${reset}`;
      return ['100', `${remaining}`, `${reset}`, policy, state, remaining > 0 ? null : `${reset}`];
    };
    expect(await at(0)).toEqual(expected(99, WINDOW_SECONDS));
    expect(await at(4.4)).toEqual(expected(98, WINDOW_SECONDS - 4));
    await Promise.all(Array.from({ length: 98 }, () => sendFrom(address)));
    expect(await at(10.9)).toEqual(expected(0, WINDOW_SECONDS - 15));
    await expectError(await sendFrom(address), 429, 'rate_limit_exceeded');
    await expectStatus(await sendFrom(freshAddress()), 200);
    advanceSeconds(WINDOW_SECONDS - 16);
    expect((await sendFrom(address)).headers.get('Retry-After')).toBe('1');
    expect(await at(1)).toEqual(expected(99, WINDOW_SECONDS));
  });

  it('counts down to the time when more requests become available', async () => {
    const app = createApp();
    const headers = { 'CF-Connecting-IP': freshAddress() };
    const states: unknown[] = [];
    for (let sent = 0; sent < 6; sent += 1) {
      const response = await sendWith({ RATE_LIMIT_DEFAULT: '4' }, '/api/health', { headers }, app);
      states.push([response.status, ...getLimitHeaders(response).slice(1, 3)].join(' '));
      advanceSeconds(12);
    }
    const full = ['200 3 60', '200 2 48', '200 1 36', '200 0 24', '429 0 12'];
    // The first request has left the window, and the second one leaves next.
    expect(states).toEqual([...full, '200 0 10']);
  });

  it.each([
    [10, '96', '50'],
    [60, '100', '60'],
  ])('reports the state at the end of a request that takes %i s', async (seconds, ...state) => {
    const app = createApp();
    const headers = { 'CF-Connecting-IP': freshAddress() };
    const blocker = Promise.withResolvers<void>();
    const DB = delayD1(env.DB, blocker.promise);
    const slow = sendWith({ DB }, '/api/v1/events', { headers }, app);
    for (let sent = 0; sent < 3; sent += 1) await sendWith({}, '/api/health', { headers }, app);
    advanceSeconds(seconds);
    blocker.resolve();
    expect(getLimitHeaders(await slow).slice(1, 3)).toEqual(state);
  });

  it('ignores other headers that contain a client address', async () => {
    const address = freshAddress();
    const names = ['X-Forwarded-For', 'X-Real-IP', 'True-Client-IP', 'Forwarded', 'CF-Worker'];
    for (const [index, name] of names.entries()) {
      const response = await sendFrom(address, '/api/health', {
        headers: { [name]: freshAddress() },
      });
      expect(response.headers.get('X-RateLimit-Remaining'), name).toBe(`${99 - index}`);
    }
  });

  it('does not apply outside /api', async () => {
    const response = await sendFrom(freshAddress(), '/');
    expect(getLimitHeaders(response)).toEqual([null, null, null, null, null, null]);
    expect(response.headers.has('Server-Timing')).toBe(false);
  });

  it('lets a browser read a 429', async () => {
    const changes = { CORS_ORIGINS: 'https://www.example.com', RATE_LIMIT_DEFAULT: '1' };
    const headers = {
      Origin: 'https://www.example.com',
      'Access-Control-Request-Method': 'GET',
      'CF-Connecting-IP': freshAddress(),
    };
    const app = createApp();
    const request = (method: string) => sendWith(changes, LIST, { method, headers }, app);
    const responses = [await request('OPTIONS'), await request('GET'), await request('GET')];
    expect(responses.map(({ status }) => status)).toEqual([204, 200, 429]);
    const allowed = responses.at(-1)?.headers.get('Access-Control-Allow-Origin');
    expect(allowed).toBe('https://www.example.com');
  });
});

it('applies the ingest policy only to a POST to the ingest path', async () => {
  const address = freshAddress();
  const post = { method: 'POST', body: '{}' };
  const states = [
    await sendFrom(address, INGEST, post),
    await sendFrom(address, `${INGEST}/`, post),
    await sendFrom(address, INGEST),
  ].map(({ headers }) => headers.get('RateLimit'));
  const expected = ['"ingest";r=199', '"default";r=99', '"default";r=98'];
  expect(states).toEqual(expected.map((state) => `${state};t=${WINDOW_SECONDS}`));
});
