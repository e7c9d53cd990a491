/** The promises that apply to all routes, tested on every route that the app registers. */

import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../src/app.ts';
import { document, getQueryNames } from './support/documented.ts';
import { expectError, expectStatus, freshAddress, send, sendWith } from './support/http.ts';
import { WINDOW_SECONDS } from './support/vars.ts';

const NO_CREDENTIALS_NEEDED = ['/api/health', '/api/health/detailed'];
const OTHER_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** All routes. In `url`, a name that no resource has replaces the path parameters. */
const routes = [
  ...new Map(
    createApp()
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
  ).values(),
].map((route) => ({ ...route, url: route.path.replace(/:\w+/g, 'no-such-thing') }));

const none = { headers: { 'x-api-key': '' } };

function call({ method, url }: { method: string; url: string }, init: RequestInit = {}) {
  return send(url, { method, ...(method === 'POST' && { body: '{}' }), ...init });
}

/** Returns the name of the parameter that accepts a list's cursors. */
function getPager(path: string): string {
  return getQueryNames(path).find((name) => name === 'after') ?? 'cursor';
}

/** Expects the headers that are optional in the OpenAPI document. `send` checks the required headers. */
function expectConventions({ headers }: Response) {
  expect(headers.get('X-Request-ID')).toMatch(/^req_[0-9a-f]{32}$/);
  expect(headers.get('X-RateLimit-Limit')).toMatch(/^(100|200)$/);
  expect(headers.get('X-RateLimit-Remaining')).toMatch(/^\d+$/);
  expect(headers.get('X-RateLimit-Reset')).toMatch(/^\d+$/);
  const policy = new RegExp(`^"(default|ingest)";q=(100|200);w=${WINDOW_SECONDS}$`);
  expect(headers.get('RateLimit-Policy')).toMatch(policy);
  expect(headers.has('Server-Timing')).toBe(true);
}

it('finds the routes of the API', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`)).toContain(
    'GET /api/v1/web/properties',
  );
  expect(routes.every(({ path }) => path.startsWith('/api/'))).toBe(true);
});

describe.each(routes)('$method $path', (route) => {
  it('sends the headers that every response has', async () => {
    const response = await call(route);
    expect(response.status).toBeLessThan(500);
    expectConventions(response);
  });

  it('requires credentials unless it is a health check', async () => {
    const response = await call(route, none);
    if (NO_CREDENTIALS_NEEDED.includes(route.path)) {
      await expectStatus(response, 200);
      return;
    }
    // An empty header is an invalid credential, not a missing one.
    await expectError(response, 401, 'authentication_invalid');
    expectConventions(response);
  });

  it('rejects requests above its rate limit', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2030-01-01T00:00:00Z') });
    const limits = { RATE_LIMIT_DEFAULT: '1', RATE_LIMIT_INGEST: '1' };
    const headers = { 'CF-Connecting-IP': freshAddress() };
    const init = { method: route.method, headers, ...(route.method === 'POST' && { body: '{}' }) };
    const app = createApp();
    const first = await sendWith(limits, route.url, init, app);
    expect(first.status).toBeLessThan(429);
    const counter = route.path.startsWith('/api/public/events/') ? 'ingest' : 'default';
    expect(first.headers.get('RateLimit')).toBe(`"${counter}";r=0;t=60`);
    const error = await expectError(
      await sendWith(limits, route.url, init, app),
      429,
      'rate_limit_exceeded',
    );
    expect(error.type).toBe('rate_limit_error');
  });

  it('responds to other methods with 405 and Allow', async () => {
    const pathMethods = routes
      .filter(({ path }) => path === route.path)
      .map(({ method }) => method);
    for (const method of OTHER_METHODS.filter((other) => !pathMethods.includes(other))) {
      const response = await send(route.url, { method });
      await expectError(response, 405, 'method_not_allowed');
      expectConventions(response);
      const allowed = response.headers.get('Allow')?.split(', ');
      expect(allowed?.toSorted()).toEqual(
        [...pathMethods, ...(pathMethods.includes('GET') ? ['HEAD'] : [])].toSorted(),
      );
    }
  });

  it.each(['trailing', 'doubled'])(
    'is suggested by the 404 for its path with a %s slash',
    async (kind) => {
      const url = kind === 'trailing' ? `${route.url}/` : route.url.replace('/api/', '/api//');
      const response = await call({ ...route, url });
      const { message } = await expectError(response, 404, 'resource_missing');
      expectConventions(response);
      const [, path = ''] = /slash\. Use (\S+)\.$/.exec(message) ?? [];
      expect(path).toBe(route.path.replace(/:(\w+)/g, '{$1}'));
      expect(Object.keys(document.paths)).toContain(path);
    },
  );
});

const readable = routes.filter(({ method }) => method === 'GET');

describe.each(readable)('GET $path', (route) => {
  it('responds to HEAD as to GET but without a body', async () => {
    const [head, full] = [await send(route.url, { method: 'HEAD' }), await call(route)];
    expect(head.status).toBe(full.status);
    for (const name of ['ETag', 'Cache-Control', 'Content-Type', 'X-Should-Retry']) {
      expect(head.headers.get(name)).toBe(full.headers.get(name));
    }
    expect(await head.text()).toBe('');
    expectConventions(head);
  });
});

/** Routes that validate their query parameters. Health checks ignore them. */
const queried = readable.filter(({ path }) => !path.startsWith('/api/health'));

describe.each(queried)('the query of $path', (route) => {
  it('rejects every unknown parameter except those that links append', async () => {
    const plain = await call(route);
    const appended = await call({ ...route, url: `${route.url}?utm_source=a&utm_source=b&_c=d` });
    expect(appended.status).toBe(plain.status);
    const response = await call({ ...route, url: `${route.url}?sort=name` });
    expectConventions(response);
    const error = await expectError(response, 400, 'validation_error');
    expect(error.param).toBe('sort');
    const names = getQueryNames(route.path.replace(/:(\w+)/g, '{$1}'));
    expect(error.message).toContain(
      names.length === 0
        ? 'This operation has no parameters.'
        : `The parameters are ${names.join(', ')}.`,
    );
  });
});

const lists = readable.filter(({ path }) => getQueryNames(path).includes('limit'));

it('returns a list resource only at routes that have the parameter limit', async () => {
  expect(lists.length).toBeGreaterThan(3);
  for (const route of readable.filter(({ path }) => !path.includes(':'))) {
    const response = await call(route);
    await expectStatus(response, 200);
    const { object } = z.object({ object: z.string() }).parse(await response.json());
    expect([route.path, object === 'list']).toEqual([route.path, lists.includes(route)]);
  }
});

describe.each(lists)('the list $path', (route) => {
  it('rejects unsupported paging parameters and invalid values', async () => {
    const pager = getPager(route.path);
    for (const [code, param, values] of [
      ['validation_error', 'page', ['1']],
      ['validation_error', 'resume_cursor', ['a']],
      ['validation_error', pager === 'after' ? 'cursor' : 'after', ['a']],
      ['validation_error', 'Limit', ['1']],
      ['validation_error', 'limit[]', ['1']],
      ['validation_error', 'limit', ['0', '101', '1&limit=2', 'x']],
      ['invalid_cursor', pager, ['x', '%20']],
    ] as const) {
      for (const value of values) {
        const response = await call({ ...route, url: `${route.url}?${param}=${value}` });
        expect((await expectError(response, 400, code)).param).toBe(param);
      }
    }
  });
});
