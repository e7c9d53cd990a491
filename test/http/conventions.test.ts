/**
 * Conventions beside the contract of each route: ids, unknown paths, unexpected failures, vars,
 * CORS.
 */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import deployed from '../../src/index.ts';
import { expectError, expectStatus, get, sendWith } from '../support/http.ts';

const LIST = '/api/v1/web/properties';

/** The service with one more route, which throws. */
function appThatThrows(thrown: unknown) {
  return createApp().get('/api/v1/throws', () => {
    throw thrown;
  });
}

describe('the request id', () => {
  it.each(['trace:1/2.3', '~ !"#$%&', 'a\tb', 'é', `\u{1f3e1}${'x'.repeat(199)}`, '\u0085'])(
    '%j is echoed exactly',
    async (id) => {
      const response = await get(LIST, { headers: { 'X-Request-ID': id } });
      expect(response.headers.get('X-Request-ID')).toBe(id);
    },
  );

  it.each(['x'.repeat(201), `é${'x'.repeat(200)}`, 'a\ufffd', ''])(
    '%j is replaced by a fresh one',
    async (id) => {
      const response = await get(LIST, { headers: { 'X-Request-ID': id } });
      expect(response.headers.get('X-Request-ID')).toMatch(/^req_[0-9a-f]{32}$/);
    },
  );

  it('is another one for each request', async () => {
    const [one, two] = [await get(LIST), await get(LIST)];
    expect(one.headers.get('X-Request-ID')).not.toBe(two.headers.get('X-Request-ID'));
  });
});

it('an error names the path, the method and the time of its request', async () => {
  const before = Date.now();
  const response = await get(`${LIST}/none?utm_source=a`);
  const body = await response.json<{ path: string; method: string; timestamp: string }>();
  expect(body).toMatchObject({ path: `${LIST}/none`, method: 'GET' });
  const at = Date.parse(body.timestamp);
  expect([at >= before, at <= Date.now()]).toEqual([true, true]);
});

it.each(['/', '/api', '/api/none', '/elsewhere', `//api/v1/web/properties`, `${LIST}/a/b`])(
  '%s has no route: 404 resource_missing, without credentials too',
  async (path) => {
    const response = await get(path, { headers: { 'x-api-key': '' } });
    const error = await expectError(response, 404, 'resource_missing');
    expect(error.type).toBe('invalid_request_error');
  },
);

describe('an unexpected failure', () => {
  it.each([
    ['an error', new Error('secret detail')],
    ['a string', 'secret detail'],
  ])(
    'by %s is a 500 that reveals nothing, and logs its cause under the request id',
    async (_name, thrown) => {
      const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
      const response = await sendWith(
        {},
        '/api/v1/throws',
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

const key = { name: 'site', scopes: ['feed:read'], sha256: 'a'.repeat(64) };

describe('a malformed var', () => {
  it.each<[name: string, value: unknown, fault?: string]>([
    ['API_KEYS', 'site=feed:read', 'must be a list of keys'],
    ['API_KEYS', [{ ...key, name: 'Site' }], '.0.name must be lower-case'],
    ['API_KEYS', [{ ...key, name: 'a'.repeat(41) }], '.0.name must have at most 40 characters'],
    ['API_KEYS', [{ ...key, name: 'bearer' }], '.0.name must not be'],
    ['API_KEYS', [{ ...key, scopes: [] }], '.0.scopes must have at least one scope'],
    ['API_KEYS', [{ ...key, scopes: ['feed:write'] }], '.0.scopes.0 must be one of'],
    ['API_KEYS', [{ ...key, sha256: 'epf_site' }], '.0.sha256 must be 64'],
    ['API_KEYS', [{ ...key, expires: '2027-02-30' }], '.0.expires must be a date'],
    ['API_KEYS', [{ ...key, rate_limit: 0 }], '.0.rate_limit must be a whole number from 1 to'],
    ['API_KEYS', [{ ...key, rate_limit: 60_001 }], '.0.rate_limit must be a whole number from 1'],
    ['API_KEYS', [{ ...key, expire: '2027-02-03' }], '.0'],
    ['API_KEYS', [key, { ...key, sha256: 'b'.repeat(64) }], '.1.name repeats 0.name'],
    ['API_KEYS', [key, { ...key, name: 'other' }], '.1.sha256 repeats 0.sha256'],
    ['PUBLIC_SITE_URL', 'ftp://site.example.com'],
    ['PUBLIC_SITE_URL', 'https://site.example.com/?shop=1'],
    ['PUBLIC_SITE_URL', 'https:///site.example.com'],
    ['CORS_ORIGINS', 'https://site.example.com/path'],
    ['CORS_ORIGINS', 'https://*.example.com'],
    ['CORS_ORIGINS', 'capacitor://localhost/'],
    ['RATE_LIMIT_INGEST', '0'],
    ['JURISDICTION', 'EU'],
    ['IDEMPOTENCY_RETENTION_SECONDS', '59'],
    ['FEED_CACHE_SECONDS', '-1'],
    ['FEED_MEMORY_BYTES', ''],
    ['JWT_JWKS_URL', 'keys.json'],
    ['JWT_JWKS', '{"keys":'],
    ['JWT_JWKS', '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}'],
    ['JWT_JWKS', '{"keys":[{"kty":"EC","d":"private"}]}'],
  ])(
    '%s=%j is a 500 with every header and a log line that names it',
    async (name, value, fault = '') => {
      const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
      const response = await sendWith({ [name]: value }, LIST);
      const error = await expectError(response, 500, 'internal_error');
      expect(error.message).not.toContain(name);
      expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(response.headers.get('RateLimit')).toMatch(/^"default";r=\d+;t=\d+$/);
      const line = String(logged.mock.calls[0]?.[0]);
      expect(line.split(name), line).toHaveLength(2);
      expect(line).toContain(fault);
      expect(line).not.toContain('c2VjcmV0');
    },
  );
});

it('development is a malformed var of the deployed entry, but at the machine itself', async () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
  const vars = { ENVIRONMENT: 'development' };
  const statusAt = async (origin: string, headers = {}) => {
    const response = await sendWith(vars, `${origin}/api/health`, { headers }, deployed);
    return response.status;
  };
  expect(await statusAt('https://api.example.com')).toBe(500);
  expect(String(logged.mock.calls[0]?.[0])).toContain('ENVIRONMENT must not be development');
  expect(await statusAt('https://localhost.example.com')).toBe(500);
  for (const host of ['localhost:3001', '127.0.0.1:3001', '[::1]:3001']) {
    expect(await statusAt(`http://${host}`)).toBe(200);
  }
  // `wrangler dev` with a route.
  for (const address of ['127.0.0.1', '::1']) {
    const headers = { 'CF-Connecting-IP': address };
    expect(await statusAt('http://api.example.com', headers)).toBe(200);
    // In production, plain http from elsewhere is a 403.
    const list = await sendWith({}, `http://api.example.com${LIST}`, { headers }, deployed);
    expect(list.status).toBe(200);
  }
});

it('vars are parsed once per isolate', () => {
  const vars = { ...env };
  expect(readConfig(vars)).toBe(readConfig(vars));
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

  it.each([LIST, '/api/none'])('lets a listed origin read %s and its headers', async (path) => {
    const response = await sendWith({ CORS_ORIGINS }, path, { headers: origin });
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
    expect(response.headers.get('Vary')).toContain('Origin');
    const exposed = response.headers.get('Access-Control-Expose-Headers')?.toLowerCase() ?? '';
    const names =
      'etag retry-after x-request-id x-ratelimit-remaining idempotent-replayed server-timing';
    expect(exposed.split(',')).toEqual(expect.arrayContaining(names.split(' ')));
  });

  it('allows no other origin, and none unless the var lists some', async () => {
    expect((await get(LIST, { headers: origin })).headers.has('Vary')).toBe(false);
    const others = ['https://evil.example', 'null', 'https://app.example.com.evil.example'];
    for (const headers of [{}, ...others.map((other) => ({ Origin: other }))]) {
      const response = await sendWith({ CORS_ORIGINS }, LIST, { headers });
      expect(response.headers.has('Access-Control-Allow-Origin')).toBe(false);
      expect(response.headers.get('Vary')).toContain('Origin');
    }
  });

  it('in development lets every port of localhost in, and no other origin', async () => {
    const allowedFor = async (Origin: string) => {
      const init = { ...preflight, headers: { ...preflight.headers, Origin } };
      const response = await sendWith({ ENVIRONMENT: 'development' }, LIST, init);
      return response.headers.get('Access-Control-Allow-Origin');
    };
    for (const host of ['localhost:5173', 'localhost', '127.0.0.1:4321', '[::1]:8080']) {
      expect(await allowedFor(`http://${host}`)).toBe(`http://${host}`);
      expect(await allowedFor(`https://${host}`)).toBe(`https://${host}`);
    }
    expect(await allowedFor('http://localhost.evil.example')).toBeNull();
    expect(await allowedFor('https://site.example.com')).toBeNull();
  });

  it('grants a preflight every header that it asks for, and the methods of all routes', async () => {
    const asked = 'baggage,cache-control,idempotency-key,traceparent,x-api-key,x-invented';
    const response = await sendWith({ CORS_ORIGINS }, LIST, {
      method: 'OPTIONS',
      headers: { ...preflight.headers, 'Access-Control-Request-Headers': asked },
    });
    await expectStatus(response, 204);
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
    expect(response.headers.get('Access-Control-Allow-Headers')).toBe(asked);
    expect(response.headers.has('Access-Control-Allow-Credentials')).toBe(false);
    const ofRoutes = createApp().routes.flatMap(({ method }) => (method === 'ALL' ? [] : method));
    const methods = response.headers.get('Access-Control-Allow-Methods')?.split(',');
    expect(methods?.sort()).toEqual([...new Set(['HEAD', ...ofRoutes])].sort());
  });

  it('does not take a bare OPTIONS for a preflight', async () => {
    const response = await sendWith({ CORS_ORIGINS }, LIST, { method: 'OPTIONS', headers: origin });
    await expectError(response, 405, 'method_not_allowed');
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(origin.Origin);
    expect(response.headers.get('Access-Control-Expose-Headers')).toContain('X-Request-ID');
    const stranger = { method: 'OPTIONS', headers: { Origin: 'https://evil.example' } };
    const rejected = await sendWith({ CORS_ORIGINS }, LIST, stranger);
    expect(rejected.headers.has('Access-Control-Allow-Origin')).toBe(false);
  });

  it.each(['capacitor://localhost', '*'])('may be open to %s', async (own) => {
    const response = await sendWith({ CORS_ORIGINS: own }, LIST, { headers: { Origin: own } });
    expect(response.headers.get('Access-Control-Allow-Origin')).toBe(own);
  });
});
