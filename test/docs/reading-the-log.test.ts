/**
 * Tests the fields and queries in docs/operate/reading-the-log.md against lines that the service logs.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { CONNECTION_LOST, failingD1, MODES } from '../support/faults.ts';
import { type Changes, freshAddress, sendWith } from '../support/http.ts';
import { interceptMethods, interceptObjects } from '../support/interceptor.ts';
import { namedKey } from '../support/keys.ts';
import { getCodes, getTable } from '../support/markdown.ts';
import { createProvider } from '../support/tokens.ts';

type Line = Readonly<Record<string, unknown>>;

const readRows = (head: string) => getTable('docs/operate/reading-the-log.md', head).rows;

/** Values for the placeholders that the operator replaces. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  'REQUEST-ID': 'limited',
  'KEY-NAME': 'site',
};

/**
 * The documented questions, each with the filters of its query and the fields that it shows or
 * groups by.
 */
const questions = readRows('question').map(([question = '', filters = '', ...shown]) => ({
  question,
  filters: filters.split(', ').map(parseFilter),
  fields: getCodes(shown.join()),
}));

/** Parses a filter such as `status` gte `400`. */
function parseFilter(text: string): (line: Line) => boolean {
  const [, field = '', operator, written = ''] =
    /^`(\w+)` (eq|gte|gt|exists)(?: `([^`]+)`)?$/.exec(text) ?? [];
  const value = REPLACEMENTS[written] ?? written;
  switch (operator) {
    case 'eq':
      return (line) => String(line[field]) === value;
    case 'gte':
      return (line) => Number(line[field]) >= Number(value);
    case 'gt':
      return (line) => Number(line[field]) > Number(value);
    case 'exists':
      return (line) => field in line;
    default:
      throw new Error(`no filter: ${text}`);
  }
}

const FEED = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
const provider = await createProvider();
const site = await namedKey('site', ['feed:read']);
const old = await namedKey('old-site', ['feed:read'], '2020-01-31');
const booking = await namedKey('booking-system', ['events:write', 'events:read']);
const VERSION_ID = 'd3b1f0aa-4c1e-4a53-9d0e-6f0e4b7c2a11';
const vars: Changes = {
  ...provider.vars,
  API_KEY: 'opens-everything',
  API_KEYS: [site, old, booking].map(({ entry }) => entry),
  CF_VERSION_METADATA: { id: VERSION_ID, tag: '', timestamp: '' },
};

const SLOW_COUNTER_MS = 120;
/** The line length that the prices in docs/operate/cost.md assume. */
const LINE_BYTES = 400;

const lines: Line[] = [];
const app = createApp();

/** Sends a request with a caller's key. The log line of the request has `id` as its request id. */
function send(
  id: string,
  path: string,
  { key }: { key: string },
  init: RequestInit = {},
  changes: Changes = {},
  service = app,
) {
  const headers = new Headers({
    'x-api-key': key,
    ...Object.fromEntries(new Headers(init.headers)),
  });
  headers.set('X-Request-ID', id);
  const request = { ...init, headers, cf: { colo: 'FRA' } };
  return sendWith({ ...vars, ...changes }, path, request, service);
}

const posting = (key: string, payload: object) => ingestInit(bookingCreated({ payload }), key);
const withToken = async (claims = {}) => ({
  headers: { Authorization: `Bearer ${await provider.sign(claims)}` },
});

beforeAll(async () => {
  for (const method of ['log', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((text: unknown) => {
      lines.push(z.record(z.string(), z.unknown()).parse(JSON.parse(String(text))));
    });
  }
  await send('read', FEED, site);
  await send('read-by-token', FEED, { key: '' }, await withToken());
  await send('missing', `${FEED}/no-such-home`, site);
  await send('bad-limit', `${FEED}?limit=0`, site);
  await send('unknown-key', FEED, { key: 'nobody-knows-it' });
  await send('expired-key', FEED, old);
  await send('no-scope', EVENTS, site);
  await send('plain-http', `http://api.example.com${FEED}`, site);
  await send('by-a-binding', FEED, site, { headers: { 'CF-Connecting-IP': '' } });
  await send('expired-token', FEED, { key: 'none' }, await withToken({ exp: 1 }));
  const preflight = { Origin: 'https://shop.example.com', 'Access-Control-Request-Method': 'GET' };
  await send('preflight', FEED, site, { method: 'OPTIONS', headers: preflight });
  await send('accepted', INGEST, booking, posting('key-1-of-the-log', { note: 'a' }));
  await send('replayed', INGEST, booking, posting('key-1-of-the-log', { note: 'a' }));
  await send('conflict', INGEST, booking, posting('key-1-of-the-log', { note: 'b' }));
  await send('bad-payload', INGEST, booking, posting('key-2-of-the-log', { check_in: 'soon' }));
  const client = () => ({ headers: { 'CF-Connecting-IP': freshAddress() } });
  const once = client();
  for (const id of ['last-allowed', 'limited']) {
    await send(id, FEED, site, once, { RATE_LIMIT_DEFAULT: '1' });
  }
  await send('limited-unknown-key', FEED, { key: 'none' }, once, { RATE_LIMIT_DEFAULT: '1' });
  const RATE_COUNTER = interceptObjects(env.RATE_COUNTER, async (call) => {
    await scheduler.wait(SLOW_COUNTER_MS);
    return call();
  });
  const twice = client();
  const slowly = { RATE_COUNTER, RATE_LIMIT_DEFAULT: '2' };
  const concurrent = ['counted-beside', 'slow-counter'];
  await Promise.all(concurrent.map((id) => send(id, FEED, site, twice, slowly)));
  const passing = failingD1(env.DB, { message: CONNECTION_LOST, times: 1 });
  await send('repeated-call', EVENTS, booking, {}, { DB: passing });
  const DB = failingD1(env.DB);
  await send('d1-down', EVENTS, booking, {}, { DB });
  const IDEMPOTENCY = interceptMethods(env.IDEMPOTENCY, MODES['fails at once']());
  await send('kv-down', INGEST, booking, posting('key-4-of-the-log', {}), { IDEMPOTENCY });

  vi.useFakeTimers({ toFake: ['Date'] });
  // An isolate creates its only cache with the vars of its first request.
  const caching = createApp();
  await send('cached', FEED, site, {}, { FEED_CACHE_SECONDS: '1' }, caching);
  vi.setSystemTime(Date.now() + 60_000);
  await send('stale', FEED, site, {}, { FEED_CACHE_SECONDS: '1', DB }, caching);
  vi.useRealTimers();
});

describe('a documented query', () => {
  it.each(questions)('finds lines with the shown fields for "$question"', (query) => {
    const matches = lines.filter((line) => query.filters.every((filter) => filter(line)));
    expect(matches).not.toEqual([]);
    const written = new Set(matches.flatMap((line) => Object.keys(line)));
    expect(query.fields.filter((field) => !written.has(field))).toEqual([]);
  });
});

describe('the log fields of a request', () => {
  const requests = () => lines.filter(({ message }) => message === 'request');
  const findLine = (id: string) => requests().find(({ request_id }) => request_id === id);

  it('are exactly the documented fields', () => {
    const documented = readRows('field of a request').flatMap(([names = '']) => getCodes(names));
    const written = new Set(requests().flatMap((line) => Object.keys(line)));
    expect([...written].sort()).toEqual([...documented, 'message'].sort());
  });

  it.each([
    { id: 'read', fields: { colo: 'FRA' } },
    { id: 'preflight', fields: { rejected_origin: 'https://shop.example.com' } },
    { id: 'accepted', fields: { outcome: 'accepted', caller: 'booking-system' } },
    { id: 'replayed', fields: { outcome: 'replayed', status: 200 } },
    { id: 'conflict', fields: { outcome: 'conflict', status: 409 } },
    { id: 'repeated-call', fields: { status: 200, database_attempts: 2 } },
  ])('include $fields for the request "$id"', ({ id, fields }) => {
    expect(findLine(id)).toMatchObject(fields);
  });

  it('name the caller of a rate-limited request if its key exists', () => {
    const limited = { status: 429, error_code: 'rate_limit_exceeded', caller: 'site' };
    expect(findLine('limited')).toMatchObject(limited);
    expect(findLine('limited-unknown-key')).toMatchObject({ status: 429 });
    expect(findLine('limited-unknown-key')).not.toHaveProperty('caller');
  });

  it('fit into 400 bytes', () => {
    const sizes = requests().map((line) => new TextEncoder().encode(JSON.stringify(line)).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(LINE_BYTES);
  });
});
