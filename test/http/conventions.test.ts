/** Conventions of all routes: request ids, unknown paths, failures, invalid vars and CORS. */

import { env } from 'cloudflare:workers';
import { validator } from 'hono/validator';
import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import deployed from '../../src/index.ts';
import { expectError, expectStatus, get, sendUndescribed, sendWith } from '../support/http.ts';
import { watchLog } from '../support/log.ts';

const LIST = '/api/v1/web/properties';

const FRESH = /^req_[0-9a-f]{32}$/;

it.each<[sent: string, isEchoed: boolean]>([
  ['trace:1/2.3', true],
  ['~ !"#$%&', true],
  ['a\tb', true],
  ['é', true],
  [`\u{1f3e1}${'x'.repeat(199)}`, true],
  ['\u0085', true],
  ['x'.repeat(201), false],
  [`é${'x'.repeat(200)}`, false],
  ['a\ufffd', false],
  ['', false],
])('handles the request id %j (echoed: %s)', async (id, isEchoed) => {
  const sent = await get(LIST, { headers: { 'X-Request-ID': id } });
  const fresh = await get(LIST);
  const ids = [sent, fresh].map(({ headers }) => headers.get('X-Request-ID'));
  expect(ids).toEqual([isEchoed ? id : expect.stringMatching(FRESH), expect.stringMatching(FRESH)]);
  expect(ids[0]).not.toBe(ids[1]);
});

it('includes the path, method and time of the request in an error', async () => {
  const before = Date.now();
  const response = await get(`${LIST}/none?utm_source=a`);
  const body = await response.json<{ path: string; method: string; timestamp: string }>();
  expect(body).toMatchObject({ path: `${LIST}/none`, method: 'GET' });
  const at = Date.parse(body.timestamp);
  expect([at >= before, at <= Date.now()]).toEqual([true, true]);
});

it.each(['/', '/api', '/api/none', '/elsewhere', `//api/v1/web/properties`, `${LIST}/a/b`])(
  'returns 404 resource_missing for %s even without credentials',
  async (path) => {
    const response = await get(path, { headers: { 'x-api-key': '' } });
    const error = await expectError(response, 404, 'resource_missing');
    expect(error.type).toBe('invalid_request_error');
  },
);

it.each([
  ['error', new Error('secret detail')],
  ['string', 'secret detail'],
])('turns a thrown %s into a 500 whose cause appears only in the log', async (_name, thrown) => {
  const lines = watchLog('error');
  const app = createApp().get('/api/v1/throws', () => {
    throw thrown;
  });
  const headers = { 'X-Request-ID': 'trace-7' };
  const response = await sendWith({}, '/api/v1/throws', { headers }, app);
  const error = await expectError(response, 500, 'internal_error');
  expect(error).toMatchObject({ type: 'api_error', request_id: 'trace-7' });
  expect(JSON.stringify(error)).not.toContain('detail');
  expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
  const cause = expect.stringMatching(/^(Error: secret detail|a thrown string)/);
  expect(lines()).toMatchObject([{ level: 'error', request_id: 'trace-7', cause }]);
});

it('returns the error envelope for a request that Hono rejects', async () => {
  const app = createApp().post(
    '/api/v1/reads',
    validator('json', (value) => value),
    (c) => c.text(''),
  );
  const headers = { 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers, body: '{' };
  const response = await sendUndescribed({}, '/api/v1/reads', init, app);
  await expectError(response, 400, 'validation_error');
});

const key = { name: 'site', scopes: ['feed:read'], sha256: 'a'.repeat(64) };

describe('a malformed var', () => {
  it.each<[name: string, value: unknown, problem?: string]>([
    ['API_KEYS', 'site=feed:read', 'API_KEYS must be of type array'],
    ['API_KEYS', [{ ...key, name: 'Site' }], '.0.name must be lower-case'],
    ['API_KEYS', [{ ...key, name: 'a'.repeat(41) }], '.0.name must be at most 40 characters long'],
    ['API_KEYS', [{ ...key, name: 'bearer' }], '.0.name must not be'],
    ['API_KEYS', [{ ...key, scopes: [] }], '.0.scopes must be a list of at least 1 entry'],
    ['API_KEYS', [{ ...key, scopes: ['feed:write'] }], '.0.scopes.0 must be one of'],
    ['API_KEYS', [{ ...key, sha256: 'epf_site' }], '.0.sha256 must be 64'],
    ['API_KEYS', [{ ...key, expires: '2027-02-30' }], '.0.expires must be a date'],
    ['API_KEYS', [{ ...key, rate_limit: 0 }], '.0.rate_limit must be at least 1'],
    ['API_KEYS', [{ ...key, rate_limit: 60_001 }], '.0.rate_limit must be at most 60000'],
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
  ])('causes a 500 whose log line names the var (%s=%j)', async (name, value, problem = '') => {
    const logged = vi.spyOn(console, 'error').mockReturnValue(undefined);
    const response = await sendWith({ [name]: value }, LIST);
    const error = await expectError(response, 500, 'internal_error');
    expect(error.message).not.toContain(name);
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(response.headers.get('RateLimit')).toMatch(/^"default";r=\d+;t=\d+$/);
    const line = String(logged.mock.calls[0]?.[0]);
    expect(line.split(name), line).toHaveLength(2);
    expect(line).toContain(problem);
    expect(line).not.toContain('c2VjcmV0');
  });
});

it('accepts ENVIRONMENT=development in the deployed Worker only on localhost', async () => {
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
  // If a route is configured, `wrangler dev` replaces the host, so only the address shows localhost.
  for (const address of ['127.0.0.1', '::1']) {
    const headers = { 'CF-Connecting-IP': address };
    expect(await statusAt('http://api.example.com', headers)).toBe(200);
    // The same request from another address would get a 403.
    const list = await sendWith({}, `http://api.example.com${LIST}`, { headers }, deployed);
    expect(list.status).toBe(200);
  }
});

it('parses the vars only once per isolate', () => {
  const vars = { ...env };
  expect(readConfig(vars)).toBe(readConfig(vars));
});

describe('CORS', () => {
  const APP = 'https://app.example.com';
  const LISTED = { CORS_ORIGINS: `https://site.example.com, ${APP}` };
  const DEVELOPMENT = { ENVIRONMENT: 'development' };
  const PREFLIGHT = { method: 'OPTIONS', 'Access-Control-Request-Method': 'POST' };

  const call = (
    vars: object,
    { method = 'GET', path = LIST, ...headers }: Record<string, string>,
  ) => sendWith(vars, path, { method, headers });
  const getAllowedOrigin = ({ headers }: Response) => headers.get('Access-Control-Allow-Origin');

  it.each<[Origin: string, vars: object, allowed: string | null]>([
    [APP, LISTED, APP],
    [APP, {}, null],
    ['https://evil.example', LISTED, null],
    ['null', LISTED, null],
    [`${APP}.evil.example`, LISTED, null],
    ['http://localhost:5173', DEVELOPMENT, 'http://localhost:5173'],
    ['https://localhost', DEVELOPMENT, 'https://localhost'],
    ['http://127.0.0.1:4321', DEVELOPMENT, 'http://127.0.0.1:4321'],
    ['http://[::1]:8080', DEVELOPMENT, 'http://[::1]:8080'],
    ['http://localhost.evil.example', DEVELOPMENT, null],
    ['http://192.168.1.20:5173', DEVELOPMENT, null],
    ['null', DEVELOPMENT, null],
    ['capacitor://localhost', { CORS_ORIGINS: 'capacitor://localhost' }, 'capacitor://localhost'],
    [APP, { CORS_ORIGINS: '*' }, '*'],
  ])('allows only configured origins (%s with %j → %s)', async (Origin, vars, allowed) => {
    for (const sent of [{}, { path: '/api/none' }, PREFLIGHT]) {
      const response = await call(vars, { Origin, ...sent });
      expect(getAllowedOrigin(response)).toBe(allowed);
      expect(response.headers.has('Vary')).toBe(Object.keys(vars).length > 0);
    }
  });

  it('exposes the headers that scripts need', async () => {
    const { headers } = await call(LISTED, { Origin: APP });
    const exposed = headers.get('Access-Control-Expose-Headers')?.toLowerCase().split(',');
    const names =
      'etag retry-after x-request-id x-ratelimit-remaining idempotent-replayed server-timing';
    expect(exposed).toEqual(expect.arrayContaining(names.split(' ')));
    expect((await call(LISTED, {})).headers.get('Vary')).toContain('Origin');
  });

  it('allows every header that a preflight requests', async () => {
    const requestedHeaders =
      'baggage,cache-control,idempotency-key,traceparent,x-api-key,x-invented';
    const simple = { ...PREFLIGHT, Origin: APP };
    const { headers } = await call(LISTED, simple);
    expect(headers.has('Access-Control-Allow-Headers')).toBe(false);
    expect(headers.get('Vary')).toContain('Access-Control-Request-Headers');
    const response = await call(LISTED, {
      ...simple,
      'Access-Control-Request-Headers': requestedHeaders,
    });
    await expectStatus(response, 204);
    expect(response.headers.get('Access-Control-Allow-Headers')).toBe(requestedHeaders);
    expect(response.headers.has('Access-Control-Allow-Credentials')).toBe(false);
    const routeMethods = createApp().routes.flatMap(({ method }) =>
      method === 'ALL' ? [] : method,
    );
    const methods = response.headers.get('Access-Control-Allow-Methods')?.split(',');
    expect(methods?.sort()).toEqual([...new Set(['HEAD', ...routeMethods])].sort());
  });

  it('does not treat a plain OPTIONS request as a preflight', async () => {
    for (const [Origin, allowed] of [
      [APP, APP] as const,
      ['https://evil.example', null] as const,
    ]) {
      const response = await call(LISTED, { method: 'OPTIONS', Origin });
      await expectError(response, 405, 'method_not_allowed');
      expect(getAllowedOrigin(response)).toBe(allowed);
    }
  });
});
