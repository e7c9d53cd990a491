/** The access of each kind of key to every route that the app registers, and the log lines about it. */

import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { declaredAccess } from '../../src/auth/require.ts';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import { API_KEY, expectError, expectStatus, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { createProvider } from '../support/tokens.ts';

const provider = await createProvider();

const texts = import.meta.glob<string>('../../docs/reference/authentication.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});
/** Parameters of a path have other names in the document. */
const plain = (route: string) => route.replace(/:[\w-]+/g, ':name');
/** Route → the scope that its row of the document promises, so that no route changes its scope unseen. */
const promised = new Map(
  Object.values(texts)
    .join('')
    .split('\n')
    .filter((line) => /^\| `(GET|POST|PUT|PATCH|DELETE) \//.test(line))
    .flatMap((line) => {
      const [, operations = '', , scope = ''] = line.split('|');
      const routes = operations.match(/(?<=`)[A-Z]+ [^`]+/g) ?? [];
      const [, name = 'open'] = /`(.*)`/.exec(scope) ?? [];
      return routes.map((route) => [plain(route), name] as const);
    }),
);

const app = createApp();
const handlers = app.routes.filter(({ method }) => method !== 'ALL');
const routes = [...new Set(handlers.map(({ method, path }) => `${method} ${path}`))].map((name) => {
  const [method = '', path = ''] = name.split(' ');
  const own = handlers.filter((each) => each.method === method && each.path === path);
  const declared = own.flatMap(({ handler }) => declaredAccess(handler) ?? []);
  const scope = promised.get(plain(name));
  return { name, method, path, declared, scope, first: own[0]?.handler };
});

const documented = z
  .record(z.string(), z.record(z.string(), z.object({ 'x-scope': z.string().default('open') })))
  .parse(createOpenApiDocument().paths);

const all = ['feed:read', 'events:write', 'events:read'];
const named = {
  'feed:read': await namedKey('site', ['feed:read']),
  'events:write': await namedKey('sender', ['events:write']),
  'events:read': await namedKey('reader', ['events:read']),
  'events:write and events:read': await namedKey('booking', ['events:write', 'events:read']),
  'every scope': await namedKey('all', all),
  expired: await namedKey('expired-one', all, '2020-02-29'),
  'expiring today': await namedKey('last-day', all, new Date().toISOString().slice(0, 10)),
};
const kinds: { kind: string; key: string; scopes: string[]; caller: string | undefined }[] = [
  { kind: 'the key that opens everything', key: API_KEY, scopes: all, caller: 'api-key' },
  { kind: 'an unknown key', key: 'epf_unknown_key', scopes: [], caller: undefined },
  ...Object.entries(named).map(([kind, { key, entry }]) => ({
    kind: `a key with ${kind}`,
    key,
    scopes: kind === 'expired' ? [] : entry.scopes,
    caller: entry.name,
  })),
];

const vars = { ...provider.vars, API_KEYS: Object.values(named).map(({ entry }) => entry) };
const TOKENS = {
  no: undefined,
  'an invalid': 'Bearer not.a.token',
  'a powerless': `Bearer ${await provider.sign({ permissions: [] })}`,
  'a good': `Bearer ${await provider.sign()}`,
};

let log: MockInstance<typeof console.log>;
beforeEach(() => {
  log = vi.spyOn(console, 'log').mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

/** Returns the line of the log about the last request. */
function logged(): Record<string, unknown> {
  const line = z.string().parse(log.mock.lastCall?.[0]);
  return z.record(z.string(), z.unknown()).parse(JSON.parse(line));
}

function call(route: (typeof routes)[number], key: string, authorization?: string) {
  const headers = new Headers({ 'x-api-key': key });
  if (authorization !== undefined) headers.set('Authorization', authorization);
  const url = route.path.replace(/:\w+/g, 'no-such-thing');
  return sendWith(vars, url, { method: route.method, headers });
}

describe.each(routes)('$name', (route) => {
  it('declares one scope, before everything else', () => {
    expect(route.declared).toEqual([route.scope]);
    expect(declaredAccess(route.first ?? {})).toBe(route.scope);
  });

  it('is described with the scope that it declares', () => {
    const path = Object.keys(documented).find(
      (each) => each.replaceAll(/\{\w+\}/g, ':') === route.path.replaceAll(/:\w+/g, ':'),
    );
    const operation = documented[path ?? '']?.[route.method.toLowerCase()];
    expect(operation?.['x-scope']).toBe(route.scope);
  });

  it.each(kinds)('opens to $kind as its scopes say', async ({ kind, key, scopes, caller }) => {
    const isFeed = route.scope === 'feed:read';
    for (const [which, authorization] of Object.entries(TOKENS)) {
      const what = `${kind}, ${which} token`;
      const response = await call(route, key, authorization);
      const hasKey = scopes.includes(route.scope ?? '');
      if (route.scope === 'open') {
        expect(response.status, what).toBe(200);
        expect(logged().caller, what).toBeUndefined();
      } else if (hasKey || (isFeed && which === 'a good')) {
        expect([401, 403, 500], what).not.toContain(response.status);
        expect(logged().caller, what).toBe(hasKey ? caller : 'bearer');
      } else if (scopes.length > 0) {
        const error = await expectError(response, 403, 'permission_denied');
        expect(error.message, what).toContain(route.scope);
        expect(response.headers.get('WWW-Authenticate')).toContain(`scope="${route.scope}"`);
        expect(logged(), what).toMatchObject({ caller, error_code: 'permission_denied' });
      } else if (isFeed && which === 'a powerless') {
        await expectError(response, 403, 'permission_denied');
        expect(logged().caller, what).toBe('bearer');
      } else {
        await expectError(response, 401, 'authentication_invalid');
        expect(logged().caller, what).toBe(caller);
        expect(logged().key_fault, what).toBe(caller === undefined ? 'unknown' : 'expired');
      }
    }
  });
});

it('there are routes of every scope', () => {
  expect(new Set(routes.map(({ scope }) => scope))).toEqual(new Set([...all, 'open']));
});

describe('API_KEYS', () => {
  const entry = { name: 'site', scopes: ['feed:read'], sha256: 'a'.repeat(64) };

  it.each([
    ['no list', { site: 'feed:read' }, 'API_KEYS must be a list of keys'],
    ['text that is no JSON', 'site=feed:read', 'API_KEYS must be a list of keys'],
    ['a name in capitals', [{ ...entry, name: 'Site' }], 'API_KEYS.0.name must be lower-case'],
    ['a name of 41 characters', [{ ...entry, name: 'a'.repeat(41) }], 'API_KEYS.0.name must have'],
    ['a name with two hyphens', [{ ...entry, name: 'a--b' }], 'API_KEYS.0.name must be'],
    ['a reserved name', [{ ...entry, name: 'bearer' }], 'API_KEYS.0.name must not be'],
    ['the other reserved name', [{ ...entry, name: 'api-key' }], 'API_KEYS.0.name must not be'],
    ['no scope', [{ ...entry, scopes: [] }], 'API_KEYS.0.scopes must have at least one scope'],
    [
      'an unknown scope',
      [{ ...entry, scopes: ['feed:write'] }],
      'API_KEYS.0.scopes.0 must be one of',
    ],
    [
      'a key in place of its hash',
      [{ ...entry, sha256: 'epf_site' }],
      'API_KEYS.0.sha256 must be 64',
    ],
    ['no hash', [{ ...entry, sha256: undefined }], 'API_KEYS.0.sha256'],
    ['no day', [{ ...entry, expires: '2027-02-30' }], 'API_KEYS.0.expires must be a date'],
    ['a misspelt field', [{ ...entry, expire: '2027-02-03' }], 'API_KEYS.0'],
    [
      'a name twice',
      [entry, { ...entry, sha256: 'b'.repeat(64) }],
      'API_KEYS.1.name repeats 0.name',
    ],
    ['a key twice', [entry, { ...entry, name: 'other' }], 'API_KEYS.1.sha256 repeats 0.sha256'],
  ])('with %s is a 500, and the log names it', async (_, API_KEYS, told) => {
    const faults = vi.spyOn(console, 'error').mockImplementation(() => {});
    const response = await sendWith({ API_KEYS }, '/api/health');
    await expectError(response, 500, 'internal_error');
    expect(faults.mock.lastCall?.[0]).toContain(told);
  });

  it.each([[undefined], [''], [[]], ['[]']])('%j configures no key', async (API_KEYS) => {
    await expectStatus(await sendWith({ API_KEYS }, '/api/v1/events'), 200);
  });

  it('may be JSON text, as in .dev.vars', async () => {
    const { key, entry } = await namedKey('text', ['events:read']);
    const headers = { 'x-api-key': key };
    const API_KEYS = JSON.stringify([entry]);
    await expectStatus(await sendWith({ API_KEYS }, '/api/v1/events', { headers }), 200);
  });
});
