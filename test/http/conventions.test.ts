/** The conventions of every path under /api. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { Hono } from 'hono';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { failingD1 } from '../support/faults.ts';
import {
  API_KEY,
  expectDocumented,
  expectError,
  expectStatus,
  freshAddress,
  get,
  send,
} from '../support/http.ts';

const LIST = '/api/v1/web/properties';

/** Calls an app under other bindings or vars than the configured ones. */
async function call(
  path: string,
  changes: Partial<Env>,
  init: RequestInit = {},
  app = createApp(),
) {
  const ctx = createExecutionContext();
  const headers = {
    'x-api-key': API_KEY,
    'CF-Connecting-IP': freshAddress(),
    ...(init.headers as Record<string, string>),
  };
  const request = new Request(`https://api.example.com${path}`, { ...init, headers });
  const response = await app.fetch(request, { ...env, ...changes }, ctx);
  await expectDocumented(request, response);
  await waitOnExecutionContext(ctx);
  return response;
}

/** The service with one more route, which throws. */
function appThatThrows(thrown: unknown) {
  const app = createApp();
  return app.route(
    '/api/v1/throws',
    new Hono().get('/', () => {
      throw thrown;
    }),
  );
}

describe('the request id', () => {
  it.each([
    'a',
    'trace:1/2.3',
    'x'.repeat(200),
    '~ !"#$%&',
    'a\tb',
    'é',
    `Ж${'x'.repeat(199)}`,
    `\u{1f3e1}${'x'.repeat(199)}`,
    '\u0085',
  ])('%j is echoed exactly', async (id) => {
    const response = await get(LIST, { headers: { 'X-Request-ID': id } });
    expect(response.headers.get('X-Request-ID')).toBe(id);
  });

  it.each(['x'.repeat(201), `é${'x'.repeat(200)}`, 'a\ufffd', ''])(
    '%j is replaced by a fresh one',
    async (id) => {
      const response = await get(LIST, { headers: { 'X-Request-ID': id } });
      expect(response.headers.get('X-Request-ID')).toMatch(/^req_[0-9a-f]{32}$/);
    },
  );

  it('is different for each request', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await get('/api/none')).headers.get('X-Request-ID')),
    );
    expect(new Set(ids).size).toBe(20);
  });
});

describe('a request that has no route', () => {
  it.each([
    '/',
    '/api',
    '/api/',
    '/api/none',
    '/elsewhere',
    `${LIST}/`,
    `//api/v1/web/properties`,
    `/api//v1/web/properties`,
    `${LIST}/a/b`,
  ])('%s is 404 resource_missing', async (path) => {
    const error = await expectError(await get(path), 404, 'resource_missing');
    expect(error.type).toBe('invalid_request_error');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s of a feed path is 405 with Allow',
    async (method) => {
      const response = await send(LIST, { method });
      await expectError(response, 405, 'method_not_allowed');
      expect(response.headers.get('Allow')).toBe('GET, HEAD');
    },
  );

  it('needs no credentials for its answer', async () => {
    const bare = { headers: { 'x-api-key': '' } };
    await expectError(await get('/api/none', bare), 404, 'resource_missing');
    await expectError(await send(LIST, { method: 'DELETE', ...bare }), 405, 'method_not_allowed');
  });
});

describe('HEAD', () => {
  it.each([LIST, '/api/none', `${LIST}/no-such-home`, `${LIST}?limit=0`])(
    'of %s answers as GET, without a body',
    async (path) => {
      const [head, full] = [await send(path, { method: 'HEAD' }), await get(path)];
      expect(head.status).toBe(full.status);
      expect(await head.text()).toBe('');
      for (const name of ['ETag', 'Cache-Control', 'Content-Type', 'X-Should-Retry']) {
        expect(head.headers.get(name)).toBe(full.headers.get(name));
      }
    },
  );
});

describe('security headers', () => {
  it.each([LIST, '/api/none', `${LIST}?limit=0`])('are set on %s', async (path) => {
    const { headers } = await get(path);
    expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(headers.get('Strict-Transport-Security')).toMatch(/^max-age=\d{8,}/);
    expect(headers.get('Referrer-Policy')).toBe('no-referrer');
    expect(headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('Cross-Origin-Resource-Policy')).toBe('cross-origin');
    expect(headers.has('X-Powered-By')).toBe(false);
  });
});

describe('an unexpected failure', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([
    ['an error', new Error('secret detail')],
    ['a string', 'secret detail'],
    ['undefined', undefined],
    ['an object', { secret: 'detail' }],
  ])(
    'by %s is a 500 that tells nothing, its cause logged under the request id',
    async (_name, thrown) => {
      const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
      const response = await call(
        '/api/v1/throws',
        {},
        { headers: { 'X-Request-ID': 'trace-7' } },
        appThatThrows(thrown),
      );
      const error = await expectError(response, 500, 'internal_error');
      expect(error).toMatchObject({ type: 'api_error', request_id: 'trace-7' });
      expect(JSON.stringify(error)).not.toContain('detail');
      expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(logged).toHaveBeenCalledTimes(1);
      expect(JSON.parse(String(logged.mock.calls[0]?.[0]))).toMatchObject({
        level: 'error',
        request_id: 'trace-7',
      });
    },
  );
});

it('a failure of D1 is a 500 with Retry-After', async () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
  const DB = failingD1(env.DB, { when: 'before commit' });
  for (const path of [`${LIST}/some-home`, '/api/v1/events']) {
    const response = await call(path, { DB });
    await expectError(response, 500, 'internal_error');
    expect(response.headers.get('Retry-After')).toMatch(/^\d+$/);
  }
  logged.mockRestore();
});

describe('one log line per request', () => {
  it('has the id, the method, the pattern of the route, the status, the duration and nothing sent', async () => {
    const logged = vi.spyOn(console, 'log').mockReturnValue(undefined);
    await call(
      `${LIST}/some-home?utm_source=secret`,
      { CF_VERSION_METADATA: { id: 'version-8', tag: '', timestamp: '' } },
      { headers: { 'X-Request-ID': 'trace-8' } },
    );
    expect(logged).toHaveBeenCalledTimes(1);
    const line: unknown = JSON.parse(String(logged.mock.calls[0]?.[0]));
    expect(line).toEqual({
      level: 'info',
      message: 'request',
      request_id: 'trace-8',
      method: 'GET',
      route: '/api/v1/web/properties/:slugOrId',
      status: 404,
      duration_ms: expect.any(Number),
      error_code: 'resource_missing',
      caller: 'api-key',
      counter_ms: expect.any(Number),
      database_ms: expect.any(Number),
      database_attempts: 1,
      version: 'version-8',
    });
    logged.mockRestore();
  });
});

describe('the log line of a method that the path does not know', () => {
  it.each([
    ['PUT', `${LIST}/some-home`, '/api/v1/web/properties/:slugOrId', 405],
    ['HEAD', '/api/public/events/ingest', '/api/public/events/ingest', 405],
    ['PUT', '/api/none', '/*', 404],
  ])('%s %s has the route %s', async (method, path, route, status) => {
    const logged = vi.spyOn(console, 'log').mockReturnValue(undefined);
    await call(path, {}, { method });
    const line: unknown = JSON.parse(String(logged.mock.calls[0]?.[0]));
    expect(line).toMatchObject({ method, route, status });
    logged.mockRestore();
  });
});

describe('a malformed var', () => {
  it.each([
    ['PUBLIC_SITE_URL', 'not a url'],
    ['PUBLIC_SITE_URL', 'ftp://site.example.com'],
    ['PUBLIC_SITE_URL', 'https://site.example.com/?shop=1'],
    ['PUBLIC_SITE_URL', 'https://site.example.com/#top'],
    ['PUBLIC_SITE_URL', 'https:///site.example.com'],
    ['CORS_ORIGINS', 'https://site.example.com/path'],
    ['CORS_ORIGINS', 'https://*.example.com'],
    ['CORS_ORIGINS', 'capacitor://localhost/'],
    ['CORS_ORIGINS', 'null'],
    ['RATE_LIMIT_DEFAULT', 'many'],
    ['RATE_LIMIT_INGEST', '0'],
    ['JURISDICTION', 'EU'],
    ['IDEMPOTENCY_RETENTION_SECONDS', '59'],
    ['FEED_CACHE_SECONDS', '-1'],
    ['FEED_MEMORY_BYTES', ''],
    ['JWT_JWKS_URL', 'keys.json'],
    ['JWT_JWKS', '{"keys":'],
    ['JWT_JWKS', '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}'],
    ['JWT_JWKS', '{"keys":[{"kty":"EC","d":"private"}]}'],
  ])('%s=%j answers 500 with every header and a log line that names it', async (name, value) => {
    const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
    const response = await call(LIST, { [name]: value });
    const error = await expectError(response, 500, 'internal_error');
    expect(error.message).not.toContain(name);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(String(logged.mock.calls[0]?.[0])).toContain(name);
    logged.mockRestore();
  });

  it('is something else than a missing API key, which closes the routes that need one', async () => {
    await expectError(await call(LIST, { API_KEY: '' }), 401, 'authentication_invalid');
    await expectError(await call(LIST, { API_KEY: ' , ' }), 401, 'authentication_invalid');
  });
});

describe('CORS', () => {
  const CORS_ORIGINS = 'https://site.example.com, https://app.example.com';
  const origin = { Origin: 'https://app.example.com' };
  const preflight = {
    method: 'OPTIONS',
    headers: {
      ...origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'idempotency-key,x-api-key',
    },
  };

  it('is off by default', async () => {
    const response = await get(LIST, { headers: origin });
    expect(response.headers.has('Access-Control-Allow-Origin')).toBe(false);
  });

  it.each([LIST, '/api/none', `${LIST}?limit=0`])(
    'lets a listed origin read %s and its headers',
    async (path) => {
      const response = await call(path, { CORS_ORIGINS }, { headers: origin });
      expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
      expect(response.headers.get('Vary')).toContain('Origin');
      const exposed = response.headers.get('Access-Control-Expose-Headers')?.toLowerCase() ?? '';
      for (const name of [
        'etag',
        'retry-after',
        'x-request-id',
        'x-ratelimit-remaining',
        'idempotent-replayed',
        'server-timing',
      ]) {
        expect(exposed.split(',').map((each) => each.trim())).toContain(name);
      }
    },
  );

  it('allows no other origin', async () => {
    for (const other of ['https://evil.example', 'null', 'https://app.example.com.evil.example']) {
      const response = await call(LIST, { CORS_ORIGINS }, { headers: { Origin: other } });
      expect(response.headers.has('Access-Control-Allow-Origin')).toBe(false);
    }
  });

  it('answers a preflight with every header that the API reads', async () => {
    const response = await call(LIST, { CORS_ORIGINS }, preflight);
    await expectStatus(response, 204);
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
    const allowed =
      response.headers.get('Access-Control-Allow-Headers')?.toLowerCase().split(',') ?? [];
    for (const name of [
      'authorization',
      'content-type',
      'idempotency-key',
      'if-none-match',
      'x-api-key',
      'x-request-id',
    ]) {
      expect(allowed.map((each) => each.trim())).toContain(name);
    }
    expect(response.headers.get('X-Request-ID')).toMatch(/^req_/);
  });

  it('sends Vary: Origin to a request without an origin too', async () => {
    const response = await call(LIST, { CORS_ORIGINS });
    expect(response.headers.get('Vary')).toContain('Origin');
  });

  it('does not take a bare OPTIONS for a preflight', async () => {
    const response = await call(LIST, { CORS_ORIGINS }, { method: 'OPTIONS', headers: origin });
    await expectError(response, 405, 'method_not_allowed');
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
    expect(response.headers.get('Access-Control-Expose-Headers')).toContain('X-Request-ID');
    const stranger = { method: 'OPTIONS', headers: { Origin: 'https://evil.example' } };
    const refused = await call(LIST, { CORS_ORIGINS }, stranger);
    expect(refused.headers.has('Access-Control-Allow-Origin')).toBe(false);
  });

  it.each(['capacitor://localhost', 'ionic://localhost', 'http://localhost:4321'])(
    'takes %s for an origin, as hybrid apps have',
    async (own) => {
      const response = await call(LIST, { CORS_ORIGINS: own }, { headers: { Origin: own } });
      expect(response.headers.get('Access-Control-Allow-Origin')).toBe(own);
    },
  );
});
