/**
 * The one matrix of permissions: each key beside each token, on every route that the app registers,
 * and its log line.
 */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { createApp } from '../../src/app.ts';
import { declaredAccess } from '../../src/auth/require.ts';
import { codesIn, tableIn } from '../docs/tables.ts';
import { API_KEY, expectDocumented, expectError, expectStatus, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { createProvider } from '../support/tokens.ts';

const provider = await createProvider();

const documents = import.meta.glob<string>('../../docs/reference/authentication.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});
const { rows } = tableIn(Object.values(documents).join(''), 'operations');

/** Returns the scope that the document promises for a route: no route changes its scope unseen. */
function promisedScope(route: string): string {
  const isOf = (operations: string) =>
    codesIn(operations).some((each) =>
      each.endsWith('*') ? route.startsWith(each.slice(0, -1)) : route === each,
    );
  const matches = rows.filter(([operations = '']) => isOf(operations));
  return matches.map(([, , scope = '']) => codesIn(scope)[0] ?? 'open').join(' and ');
}

const app = createApp();
const handlers = app.routes.filter(({ method }) => method !== 'ALL');
const routes = [...new Set(handlers.map(({ method, path }) => `${method} ${path}`))].map((name) => {
  const [method = '', path = ''] = name.split(' ');
  const own = handlers.filter((each) => each.method === method && each.path === path);
  const declared = own.map(({ handler }) => declaredAccess(handler));
  return { name, method, path, declared, scope: promisedScope(name) };
});

const documented = z
  .record(z.string(), z.record(z.string(), z.object({ 'x-scope': z.string().default('open') })))
  .parse(createOpenApiDocument().paths);

const all = ['feed:read', 'events:write', 'events:read'];
const expired = await namedKey('expired-one', all, '2020-02-29');
const named = [
  await namedKey('site', ['feed:read']),
  await namedKey('writer', ['events:write']),
  await namedKey('reader', ['events:read']),
  await namedKey('booking', ['events:write', 'events:read']),
  await namedKey('last-day', all, new Date().toISOString().slice(0, 10)),
];

/** A key that is sent: its scopes, and what the log says about it. */
type SentKey = { sent: string | undefined; scopes: string[]; caller?: string; fault?: string };

const KEYS: Record<string, SentKey> = {
  'no key': { sent: undefined, scopes: [] },
  'the first key of API_KEY': { sent: API_KEY, scopes: all, caller: 'api-key' },
  'the second key of API_KEY': { sent: 'test-key-two', scopes: all, caller: 'api-key' },
  'an unknown key': { sent: 'epf_unknown_key', scopes: [], fault: 'unknown' },
  'an empty key': { sent: '', scopes: [], fault: 'empty' },
  'both keys of API_KEY': { sent: `${API_KEY}, test-key-two`, scopes: [], fault: 'unknown' },
  'a prefix of a key': { sent: API_KEY.slice(0, -1), scopes: [], fault: 'unknown' },
  'the hash of a key': { sent: expired.entry.sha256, scopes: [], fault: 'unknown' },
  'an expired key': { sent: expired.key, scopes: [], caller: 'expired-one', fault: 'expired' },
};
for (const { key, entry } of named) {
  KEYS[`a key ${entry.name}`] = { sent: key, scopes: entry.scopes, caller: entry.name };
}

const good = `Bearer ${await provider.sign()}`;
const TOKENS: Record<string, string | undefined> = {
  'no token': undefined,
  'a good token': good,
  'a good token, its scheme in another case': good.replace('Bearer ', 'bEARER  '),
  'a token without the permission': `Bearer ${await provider.sign({ permissions: ['tool-chat:admin'] })}`,
  'an expired token': `Bearer ${await provider.sign({ exp: 1_000_000_000 })}`,
  'another scheme': `Basic ${btoa(`user:${API_KEY}`)}`,
  'the key as a token': `Bearer ${API_KEY}`,
  'a token without a scheme': await provider.sign(),
  'an empty header': '',
};

/** One set of bindings for all requests, because the service parses a configuration once. */
const bindings = {
  ...env,
  ...provider.vars,
  API_KEYS: [expired, ...named].map(({ entry }) => entry),
  RATE_LIMIT_DEFAULT: '1000000',
  RATE_LIMIT_INGEST: '1000000',
};

let log: MockInstance<typeof console.log>;
beforeEach(() => {
  log = vi.spyOn(console, 'log').mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

/** Sends the two headers as given. Returns the response, and its line of the log. */
async function call({ method, path }: (typeof routes)[number], key?: string, token?: string) {
  const headers = new Headers();
  if (key !== undefined) headers.set('x-api-key', key);
  if (token !== undefined) headers.set('Authorization', token);
  const url = `https://api.example.com${path.replace(/:\w+/g, 'no-such-thing')}`;
  const request = new Request(url, { method, headers });
  const ctx = createExecutionContext();
  const response = await app.fetch(request, bindings, ctx);
  await waitOnExecutionContext(ctx);
  await expectDocumented(request, response);
  return { response, line: JSON.parse(z.string().parse(log.mock.lastCall?.[0])) };
}

/** The access that a key and a token open together: the caller, or the error. */
function accessOf(scope: string, key: SentKey, token: string) {
  const isFeed = scope === 'feed:read';
  if (scope === 'open') return { caller: undefined };
  if (key.scopes.includes(scope)) return { caller: key.caller };
  if (isFeed && token.startsWith('a good token')) return { caller: 'bearer' };
  if (key.scopes.length > 0) return { status: 403, code: 'permission_denied', caller: key.caller };
  if (isFeed && token === 'a token without the permission') {
    return { status: 403, code: 'permission_denied', caller: 'bearer' };
  }
  const isNoneSent = key.sent === undefined && token === 'no token';
  const code = isNoneSent ? 'authentication_required' : 'authentication_invalid';
  return { status: 401, code, caller: key.caller };
}

describe.each(routes)('$name', (route) => {
  const { scope } = route;

  it('declares the documented scope, before everything else', () => {
    expect(route.declared).toEqual([scope, ...Array(route.declared.length - 1)]);
    const path = Object.keys(documented).find(
      (each) => each.replaceAll(/\{\w+\}/g, ':') === route.path.replaceAll(/:\w+/g, ':'),
    );
    const operation = documented[path ?? '']?.[route.method.toLowerCase()];
    expect(operation?.['x-scope']).toBe(scope);
  });

  it.each(Object.entries(KEYS))('opens to %s as its scopes say', async (kind, key) => {
    for (const [which, token] of Object.entries(TOKENS)) {
      const what = `${kind}, ${which}`;
      const { response, line } = await call(route, key.sent, token);
      const { status, code, caller } = accessOf(scope, key, which);
      expect(line.caller, what).toBe(caller);
      const challenge = response.headers.get('WWW-Authenticate');
      if (status === undefined || code === undefined) {
        expect([401, 403, 500], what).not.toContain(response.status);
        expect(challenge, what).toBeNull();
        continue;
      }
      expect([response.status, what]).toEqual([status, what]);
      const received = [...response.headers.values(), await response.clone().text()].join();
      if (key.sent) expect(received).not.toContain(key.sent);
      const { message, type } = await expectError(response, status, code);
      const isEmpty = message === 'The header X-API-Key is empty.';
      const isTokenJudged = scope === 'feed:read' && token !== undefined;
      expect(isEmpty, what).toBe(key.sent === '' && !isTokenJudged);
      expect(challenge, what).toMatch(scope === 'feed:read' ? /^Bearer / : /^ApiKey /);
      expect(line.error_code).toBe(code);
      if (status === 401) {
        expect(type).toBe('authentication_error');
        expect(line.key_fault, what).toBe(key.fault);
      } else {
        expect(type).toBe('permission_error');
        const needed = caller === 'bearer' ? 'tool-web:viewer' : scope;
        expect(message, what).toContain(needed);
        expect(challenge, what).toContain(`error="insufficient_scope", scope="${needed}"`);
      }
    }
  });
});

it('there are routes of every scope', () => {
  expect(new Set(routes.map(({ scope }) => scope))).toEqual(new Set([...all, 'open']));
});

it.each([
  [['tool-chat:admin', 'tool-web:viewer'], 200],
  [['tool-web:editor'], 200],
  [['tool-web:admin'], 200],
  [[null, 7, 'tool-web:viewer'], 200],
  [['tool-web:owner', 'tool-web', 'tool-web:', 'tool-web:viewer:x', '*'], 403],
  [['Tool-Web:viewer', 'tool-website:admin', 'x-tool-web:admin'], 403],
  [undefined, 403],
  ['tool-web:viewer', 403],
  [{ 'tool-web': 'admin' }, 403],
  [[['tool-web:viewer']], 403],
])('a token with the permissions %j gets %i', async (permissions, status) => {
  const token = await provider.sign({ permissions });
  const headers = { Authorization: `Bearer ${token}`, 'x-api-key': 'wrong' };
  const response = await sendWith(provider.vars, '/api/v1/web/properties', { headers }, app);
  await expectStatus(response, status);
});

it.each([undefined, '', ' ', ','])('no key is valid when API_KEY is %j', async (configured) => {
  const vars = { ...provider.vars, API_KEY: configured } as Partial<Env>;
  for (const sent of ['', ' ', ',', API_KEY, 'undefined']) {
    const headers = { 'x-api-key': sent };
    const response = await sendWith(vars, '/api/v1/events', { headers }, app);
    await expectError(response, 401, 'authentication_invalid');
  }
  await expectStatus(await sendWith(vars, '/api/health', {}, app), 200);
});

it('API_KEYS may be missing, empty, or JSON text as in .dev.vars', async () => {
  const { key, entry } = await namedKey('text', ['events:read']);
  const configured = [undefined, '', [], '[]'].map((each) => [each, API_KEY] as const);
  for (const [API_KEYS, sent] of [...configured, [JSON.stringify([entry]), key] as const]) {
    const headers = { 'x-api-key': sent };
    await expectStatus(await sendWith({ API_KEYS }, '/api/v1/events', { headers }), 200);
  }
});
