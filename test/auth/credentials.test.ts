/** Every combination of the two credentials, on every route. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { API_KEY, expectDocumented, expectError, freshAddress, sendWith } from '../support/http.ts';
import { createProvider } from '../support/tokens.ts';

const provider = await createProvider();
const now = Math.floor(Date.now() / 1_000);

/** Header values; undefined for no header. */
const KEYS = {
  no: undefined,
  good: API_KEY,
  rotated: 'test-key-two',
  bad: 'test-key-three',
  empty: '',
  both: `${API_KEY}, test-key-two`,
  prefix: API_KEY.slice(0, -1),
};
const AUTHORIZATIONS = {
  no: undefined,
  good: `Bearer ${await provider.sign()}`,
  'good, scheme in another case': `bEARER  ${await provider.sign()}`,
  'without permission': `Bearer ${await provider.sign({ permissions: ['tool-chat:admin'] })}`,
  bad: 'Bearer not-a-token',
  expired: `Bearer ${await provider.sign({ exp: now - 60 })}`,
  'not yet valid': `Bearer ${await provider.sign({ nbf: now + 60 })}`,
  'other scheme': `Basic ${btoa(`user:${API_KEY}`)}`,
  'the key as a bearer': `Bearer ${API_KEY}`,
  'empty bearer': 'Bearer ',
  'no scheme': await provider.sign(),
  empty: '',
};

type Outcome = 'open' | 'authentication_required' | 'authentication_invalid' | 'permission_denied';

/** The rules for credentials, and for a good one beside a bad one, come to these answers. */
function expectedOf(
  path: string,
  key: keyof typeof KEYS,
  bearer: keyof typeof AUTHORIZATIONS,
): Outcome {
  if (path.startsWith('/api/health')) return 'open';
  if (key === 'good' || key === 'rotated') return 'open';
  if (path.startsWith('/api/v1/web/')) {
    if (bearer.startsWith('good')) return 'open';
    if (bearer === 'without permission') return 'permission_denied';
  }
  return key === 'no' && bearer === 'no' ? 'authentication_required' : 'authentication_invalid';
}

const STATUSES = {
  authentication_required: 401,
  authentication_invalid: 401,
  permission_denied: 403,
};

const app = createApp();
const routes = [
  ...new Map(
    app.routes
      .filter(({ method, path }) => method !== 'ALL' && !path.startsWith('/api/docs'))
      .map(({ method, path }) => [`${method} ${path}`, { method, path }]),
  ).values(),
];

function names<T extends object>(table: T) {
  return Object.keys(table) as (keyof T)[];
}

/** One set of bindings for all tests, because the service parses a configuration once. */
const bindings = {
  ...env,
  ...provider.vars,
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
};

/** Sends the two headers as given, and no other credential. */
async function sendCredentials(
  { method, path }: { method: string; path: string },
  key: string | undefined,
  authorization: string | undefined,
): Promise<Response> {
  const headers = new Headers();
  if (key !== undefined) headers.set('x-api-key', key);
  if (authorization !== undefined) headers.set('Authorization', authorization);
  const url = `https://api.example.com${path.replace(/:\w+/g, 'no-such-thing')}`;
  const ctx = createExecutionContext();
  const request = new Request(url, { method, headers });
  const response = await app.fetch(request, bindings, ctx);
  await expectDocumented(request, response);
  await waitOnExecutionContext(ctx);
  return response;
}

describe.each(routes)('$method $path', (route) => {
  it.each(names(KEYS))('with %s key is open to its credentials only', async (key) => {
    const check = async (bearer: keyof typeof AUTHORIZATIONS) => {
      const response = await sendCredentials(route, KEYS[key], AUTHORIZATIONS[bearer]);
      const expected = expectedOf(route.path, key, bearer);
      const what = `${key} key, ${bearer} bearer`;
      if (expected === 'open') {
        expect([401, 403, 500], what).not.toContain(response.status);
        expect(response.headers.get('WWW-Authenticate'), what).toBeNull();
        return;
      }
      expect([response.status, what]).toEqual([STATUSES[expected], what]);
      const error = await expectError(response, STATUSES[expected], expected);
      expect(error.type).toBe(
        expected === 'permission_denied' ? 'permission_error' : 'authentication_error',
      );
      expect(response.headers.get('WWW-Authenticate')).toMatch(
        route.path.startsWith('/api/v1/web/') ? /^Bearer / : /^ApiKey /,
      );
    };
    await Promise.all(names(AUTHORIZATIONS).map(check));
  });
});

it.each(['', ' ', ','])('no key is valid when API_KEY is %j', async (configured) => {
  for (const sent of ['', ' ', ',', API_KEY]) {
    const headers = { 'x-api-key': sent };
    const vars = { ...provider.vars, API_KEY: configured };
    const response = await sendWith(vars, '/api/v1/events', { headers }, app);
    await expectError(response, 401, 'authentication_invalid');
  }
  expect((await sendWith({ API_KEY: configured }, '/api/health', {}, app)).status).toBe(200);
});

it('closes the routes that need a key, and not health, when API_KEY is missing', async () => {
  const { API_KEY: _, ...withoutKey } = env;
  const fetch = async (path: string) => {
    const request = new Request(`https://api.example.com${path}`, {
      headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': freshAddress() },
    });
    const response = await app.fetch(request, withoutKey, createExecutionContext());
    await expectDocumented(request, response);
    return response;
  };
  await expectError(await fetch('/api/v1/events'), 401, 'authentication_invalid');
  expect((await fetch('/api/health')).status).toBe(200);
});

describe('permissions', () => {
  it.each([
    ['tool-web:viewer', 'open'],
    ['tool-web:editor', 'open'],
    ['tool-web:admin', 'open'],
    ['tool-web:owner', 'permission_denied'],
    ['tool-web', 'permission_denied'],
    ['tool-web:', 'permission_denied'],
    ['tool-web:viewer:x', 'permission_denied'],
    ['Tool-Web:viewer', 'permission_denied'],
    ['tool-website:admin', 'permission_denied'],
    ['x-tool-web:admin', 'permission_denied'],
    ['*', 'permission_denied'],
  ])('[%j] is %s', async (permission, expected) => {
    await expectAccess({ permissions: ['tool-chat:admin', permission] }, expected);
  });

  it.each([
    undefined,
    null,
    [],
    'tool-web:viewer',
    { 'tool-web': 'admin' },
    [['tool-web:viewer']],
    [null, 1, {}],
  ])('%j gives no permission', async (permissions) => {
    await expectAccess({ permissions }, 'permission_denied');
  });

  it('is found beside entries that are no permissions', async () => {
    await expectAccess({ permissions: [null, 7, 'tool-web:viewer'] }, 'open');
  });

  async function expectAccess(claims: Record<string, unknown>, expected: string) {
    const headers = {
      Authorization: `Bearer ${await provider.sign(claims)}`,
      'x-api-key': 'wrong',
    };
    const response = await sendWith(provider.vars, '/api/v1/web/properties', { headers }, app);
    if (expected === 'open') expect(response.status).toBe(200);
    else await expectError(response, 403, expected);
  }
});
