/** Checks the scope of every registered route, and the routes that each credential can access. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { verifyBearer } from '../../src/auth/bearer.ts';
import { declaredAccess } from '../../src/auth/require.ts';
import { readConfig } from '../../src/config.ts';
import { document } from '../support/documented.ts';
import {
  API_KEY,
  expectDocumented,
  expectError,
  expectStatus,
  sendUndescribed,
  sendWith,
} from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { watchLog } from '../support/log.ts';
import { getCodes, getTable } from '../support/markdown.ts';
import { createProvider } from '../support/tokens.ts';

const FEED = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
const provider = await createProvider();

const { rows } = getTable('docs/reference/authentication.md', 'operations');

/** Returns the scope that docs/reference/authentication.md states for a route. */
function promisedScope(route: string): string {
  const matchesRoute = (operations: string) =>
    getCodes(operations).some((pattern) =>
      pattern.endsWith('*') ? route.startsWith(pattern.slice(0, -1)) : route === pattern,
    );
  const matches = rows.filter(([operations = '']) => matchesRoute(operations));
  return matches.map(([, , scope = '']) => getCodes(scope)[0] ?? 'open').join(' and ');
}

const app = createApp();
const handlers = app.routes.filter(({ method }) => method !== 'ALL');
const routes = [...new Set(handlers.map(({ method, path }) => `${method} ${path}`))].map((name) => {
  const [method = '', path = ''] = name.split(' ');
  const declared = handlers
    .filter((route) => route.method === method && route.path === path)
    .map(({ handler }) => declaredAccess(handler));
  return { name, method, path, declared, scope: promisedScope(name) };
});

const all = ['feed:read', 'events:write', 'events:read'];
const site = await namedKey('site', ['feed:read']);
const writer = await namedKey('writer', ['events:write']);
const reader = await namedKey('reader', ['events:read']);
const expired = await namedKey('expired-one', all, '2020-02-29');

/** Bindings for all requests. They are shared so that the service parses the configuration only once. */
const bindings = {
  ...env,
  ...provider.vars,
  API_KEYS: [site, writer, reader, expired].map(({ entry }) => entry),
  RATE_LIMIT_DEFAULT: '1000000',
};

let log: ReturnType<typeof watchLog>;
beforeEach(() => {
  log = watchLog('log');
});

/** Sends a request with a key, a token, both, or neither. Returns the response and its log line. */
async function call(path: string, key?: string, token?: string) {
  const headers = new Headers();
  if (key !== undefined) headers.set('x-api-key', key);
  if (token !== undefined) headers.set('Authorization', token);
  const method = path.startsWith(INGEST) ? 'POST' : 'GET';
  const request = new Request(`https://api.example.com${path}`, { method, headers });
  const ctx = createExecutionContext();
  const response = await app.fetch(request, bindings, ctx);
  await waitOnExecutionContext(ctx);
  await expectDocumented(request, response);
  return { response, line: log().at(-1) };
}

it.each(routes)(
  'declares the documented scope of $name before all other handlers',
  ({ method, path, declared, scope }) => {
    expect(declared).toEqual([scope, ...Array(declared.length - 1)]);
    const template = Object.keys(document.paths).find(
      (name) => name.replaceAll(/\{\w+\}/g, ':') === path.replaceAll(/:\w+/g, ':'),
    );
    expect(document.paths[template ?? '']?.[method.toLowerCase()]?.['x-scope']).toBe(scope);
  },
);

const NONE = undefined;
const old = `Bearer ${await provider.sign({ exp: 1_000_000_000 })}`;
const good = `Bearer ${await provider.sign()}`;
const weak = `Bearer ${await provider.sign({ permissions: ['tool-chat:admin'] })}`;

describe('the feed and the events', () => {
  const REQUIRED = 'authentication_required';
  const INVALID = 'authentication_invalid';
  const DENIED = 'permission_denied';
  const UNKNOWN = `${INVALID}, unknown`;
  const EXPIRED = `${INVALID}, expired-one, expired`;

  /** Returns the caller of a 200. For a rejection, returns the error code with the logged caller and reason. */
  async function callAs(path: string, key?: string, token?: string): Promise<string> {
    const { response, line } = await call(path, key, token);
    if (response.status === 200) return line.caller;
    const text = await response.clone().text();
    if (key) expect(text + response.headers.get('WWW-Authenticate')).not.toContain(key);
    const status = line.error_code === DENIED ? 403 : 401;
    const { code, type } = await expectError(response, status, line.error_code);
    expect(type).toBe(status === 403 ? 'permission_error' : 'authentication_error');
    return [code, line.caller, line.key_fault].filter(Boolean).join(', ');
  }

  it.each<[string, string | undefined, string | undefined, feed: string, events: string]>([
    ['no credential', NONE, NONE, REQUIRED, REQUIRED],
    ['the second key of API_KEY', 'test-key-number-two', NONE, 'api-key', 'api-key'],
    ['a prefix of a key', API_KEY.slice(0, -1), NONE, UNKNOWN, UNKNOWN],
    ['an empty key', '', NONE, `${INVALID}, empty`, `${INVALID}, empty`],
    ['an expired key', expired.key, NONE, EXPIRED, EXPIRED],
    ['a key without the scope', writer.key, NONE, `${DENIED}, writer`, `${DENIED}, writer`],
    ['a good token', NONE, good, 'bearer', INVALID],
    ['a scheme in another case', NONE, good.replace('Bearer ', 'bEARER  '), 'bearer', INVALID],
    ['a token without the permission', NONE, weak, `${DENIED}, bearer`, INVALID],
    ['an expired token', NONE, old, INVALID, INVALID],
    ['another scheme', NONE, `Basic ${btoa(`user:${API_KEY}`)}`, INVALID, INVALID],
    ['an empty token', NONE, '', INVALID, INVALID],
    ['a good key and a good token', site.key, good, 'site', `${DENIED}, site`],
    ['a good key and an expired token', API_KEY, old, 'api-key', 'api-key'],
    ['a good token and an unknown key', 'epf_unknown', good, 'bearer', UNKNOWN],
    ['a good token and a key without the scope', reader.key, good, 'bearer', 'reader'],
    ['a key and a token without the right', reader.key, weak, `${DENIED}, reader`, 'reader'],
    ['a weak token and an unknown key', 'epf_unknown', weak, `${DENIED}, bearer`, UNKNOWN],
  ])('accept or reject %s', async (_, key, token, feed, events) => {
    expect(await callAs(FEED, key, token)).toBe(feed);
    expect(await callAs(EVENTS, key, token)).toBe(events);
  });
});

it('allows a token to read one listing without a key', async () => {
  const { response } = await call(`${FEED}/none`, NONE, good);
  await expectError(response, 404, 'resource_missing');
});

describe('a rejection', () => {
  const KEY = 'ApiKey realm="api", header="x-api-key"';
  const FEED_KEY = `Bearer realm="api", ${KEY}`;
  const DENIED = 'error="insufficient_scope", scope=';

  const TOKEN = `Bearer realm="api", error="invalid_token", ${KEY}`;
  const INVALID = '"message":"The credentials sent are not valid here."';
  const BELONGS = 'not valid here. An API key belongs in the x-api-key header."';
  const TAKES_KEY = '"message":"This operation takes an API key, in the x-api-key header."';
  const NO_PERMISSION = 'does not have the permission tool-web:viewer in its claim permissions.';
  type Sent = string | undefined;
  type Rejection = [path: string, key: Sent, token: Sent, message: string, challenge: string];

  it.each<Rejection>([
    [EVENTS, NONE, NONE, 'Send an API key in the x-api-key header.', KEY],
    [EVENTS, '', NONE, 'The header X-API-Key is empty.', KEY],
    [EVENTS, 'wrong', NONE, INVALID, KEY],
    [
      EVENTS,
      site.key,
      NONE,
      'does not have the scope events:read.',
      `${KEY}, ${DENIED}"events:read"`,
    ],
    ...[good, old, `Bearer ${API_KEY}`, API_KEY, ''].map(
      (token): Rejection => [EVENTS, NONE, token, TAKES_KEY, KEY],
    ),
    [INGEST, NONE, good, TAKES_KEY, KEY],
    [`${INGEST}/batch`, NONE, good, TAKES_KEY, KEY],
    [EVENTS, 'wrong', good, INVALID, KEY],
    ...[`Bearer ${API_KEY}`, API_KEY, 'Token k', 'Bearer a.b.c.d'].flatMap((token): Rejection[] => [
      [EVENTS, 'wrong', token, BELONGS, KEY],
      [FEED, 'wrong', token, BELONGS, TOKEN],
    ]),
    [FEED, NONE, `Bearer ${API_KEY}`, BELONGS, TOKEN],
    ...['Bearer a.b.c', 'Bearer a.b.c, Bearer a.b.c', ''].map(
      (token): Rejection => [FEED, 'wrong', token, INVALID, TOKEN],
    ),
    [FEED, NONE, NONE, 'x-api-key header, or a bearer token.', FEED_KEY],
    [FEED, '', NONE, 'The header X-API-Key is empty.', FEED_KEY],
    [
      FEED,
      '',
      old,
      'The token has expired.',
      `Bearer realm="api", error="invalid_token", error_description="The token has expired.", ${KEY}`,
    ],
    [
      FEED,
      reader.key,
      old,
      'does not have the scope feed:read.',
      `${FEED_KEY}, ${DENIED}"feed:read"`,
    ],
    [FEED, NONE, weak, NO_PERMISSION, `Bearer realm="api", ${DENIED}"tool-web:viewer"`],
  ])('names the credentials that %s needs (%#)', async (path, key, token, message, challenge) => {
    const { response } = await call(path, key, token);
    expect(await response.clone().text()).toContain(message);
    expect(response.headers.get('WWW-Authenticate')).toBe(challenge);
  });
});

const NO_FORM = 'the claim permissions is not a list, text or object';

it.each<[permissions: unknown, status: number, reason?: string]>([
  [['tool-chat:admin', 'tool-web:viewer'], 200],
  [['tool-web:editor'], 200],
  [['tool-web:admin'], 200],
  [
    ['tool-web:owner', 'tool-web', 'tool-web:', 'tool-web:viewer:x', '*'],
    403,
    'no permission of tool-web',
  ],
  [['Tool-Web:viewer', 'tool-website:admin', 'x-tool-web:admin'], 403, 'no permission of tool-web'],
  ['tool-web:viewer', 200],
  ['tool-chat:admin  tool-web:editor', 200],
  [{ 'tool-web': 'viewer' }, 200],
  [{ 'tool-chat': 'viewer', 'tool-web': 'admin' }, 200],
  ['', 403, 'no permission of tool-web'],
  ['tool-web:viewer,tool-chat:admin', 403, 'no permission of tool-web'],
  [{}, 403, 'no permission of tool-web'],
  [{ 'tool-web': ['viewer'] }, 403, 'no permission of tool-web'],
  [{ 'tool-web': { toString: 'viewer' } }, 403, 'no permission of tool-web'],
  [{ 'tool-web:viewer': 'viewer', 'tool-chat': 'admin' }, 403, 'no permission of tool-web'],
  [undefined, 403, 'no claim permissions'],
  [null, 403, NO_FORM],
  [true, 403, NO_FORM],
])('checks a token with the permissions %j (status %i)', async (permissions, status, reason) => {
  const token = `Bearer ${await provider.sign({ permissions })}`;
  const { response, line } = await call(FEED, NONE, token);
  await expectStatus(response, status);
  expect(line.token_fault).toBe(reason);
});

it('denies a token whose permission level is too low', async () => {
  const { jwt } = readConfig(bindings);
  const permission = { area: 'tool-web', level: 'admin' } as const;
  const reason = 'the level of tool-web is below admin';
  for (const permissions of [['tool-web:editor'], 'tool-web:editor', { 'tool-web': 'editor' }]) {
    const token = await provider.sign({ permissions });
    const verdict = await verifyBearer(`Bearer ${token}`, jwt, permission);
    expect(verdict).toEqual({ outcome: 'denied', reason });
  }
});

describe('plain http', () => {
  const requestBy = (url: string, key = '', changes: object = {}) => {
    const headers = { 'x-api-key': key };
    return sendWith({ API_KEYS: bindings.API_KEYS, ...changes }, url, { headers });
  };

  it.each([
    [site.key, 'site'],
    [expired.key, 'expired-one'],
    [API_KEY, 'api-key'],
    ['unknown', undefined],
  ])('is rejected with the caller named in the log (%#)', async (key, caller) => {
    const response = await requestBy(`http://api.example.com${EVENTS}`, key);
    const { message } = await expectError(response, 403, 'https_required');
    expect(message).toContain('replace the key');
    expect(response.headers.get('X-RateLimit-Remaining')).toBe('99');
    const line = log().at(-1);
    expect([line.caller, line.error_code]).toEqual([caller, 'https_required']);
  });

  it('is rejected before it is routed', async () => {
    for (const path of ['/api/health', '/api/none']) {
      const response = await sendUndescribed({}, `http://api.example.com${path}`);
      await expectError(response, 403, 'https_required');
    }
  });

  it('is accepted in development', async () => {
    const changes = { ENVIRONMENT: 'development' };
    const response = await requestBy('http://192.168.1.7:3001/api/health', undefined, changes);
    await expectStatus(response, 200);
  });
});

it.each([undefined, ' ,'])('rejects every key if API_KEY is %j', async (configured) => {
  const vars = { API_KEY: configured } as Partial<Env>;
  for (const sent of ['', ',', API_KEY, 'undefined']) {
    const headers = { 'x-api-key': sent };
    const response = await sendWith(vars, EVENTS, { headers }, app);
    await expectError(response, 401, 'authentication_invalid');
  }
});

it('accepts a missing, empty or JSON-encoded API_KEYS', async () => {
  const { key, entry } = site;
  const configured = [undefined, '', []].map((value) => [value, API_KEY] as const);
  for (const [API_KEYS, sent] of [...configured, [JSON.stringify([entry]), key] as const]) {
    const headers = { 'x-api-key': sent };
    await expectStatus(await sendWith({ API_KEYS }, FEED, { headers }), 200);
  }
});
