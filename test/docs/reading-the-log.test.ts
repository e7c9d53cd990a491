/** The queries of docs/operate/reading-the-log.md, tried on lines that the service writes. */

import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { CONNECTION_LOST, failingD1 } from '../support/faults.ts';
import { type Changes, freshAddress, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { tapKv, tapObjects } from '../support/tap.ts';
import { createProvider } from '../support/tokens.ts';
import { codesIn, operateText, tableIn } from './tables.ts';

type Line = Readonly<Record<string, unknown>>;

const rowsOf = (head: string) => tableIn(operateText('reading-the-log.md'), head).rows;

/** Evaluates a filter as Workers Logs does: numbers as numbers, everything else as text. */
function passes(line: Line, filter: string): boolean {
  const [, key = '', operation = '', wanted = ''] =
    /^`(\w+)` (eq|gt|gte|exists)(?: `([^`]+)`)?$/.exec(filter) ?? [];
  const value = line[key];
  switch (operation) {
    case 'exists':
      return value !== undefined;
    case 'eq':
      return String(value) === wanted;
    case 'gt':
      return Number(value) > Number(wanted);
    case 'gte':
      return Number(value) >= Number(wanted);
    default:
      throw new Error(`no filter: ${filter}`);
  }
}

const questions = rowsOf('question').map(
  ([question = '', filters = '', shown = '', groups = '']) => ({
    question,
    filters: filters.split(/, (?=`)/),
    shown,
    groups: codesIn(groups),
  }),
);

const FEED = '/api/v1/web/properties';
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

const lines: Line[] = [];
const app = createApp();

/** Sends a request that is logged under `id`. */
async function send(
  id: string,
  path: string,
  init: RequestInit = {},
  changes: Changes = {},
  service = app,
) {
  const headers = new Headers(init.headers);
  headers.set('X-Request-ID', id);
  const cf = { colo: 'FRA' };
  return sendWith({ ...vars, ...changes }, path, { ...init, headers, cf }, service);
}

const withKey = ({ key }: { key: string }) => ({ headers: { 'x-api-key': key } });

function posting(key: string, note: string): RequestInit {
  const init = ingestInit(bookingCreated({ payload: { note } }), key);
  return { ...init, headers: { ...init.headers, 'x-api-key': booking.key } };
}

beforeAll(async () => {
  for (const method of ['log', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((text: unknown) => {
      lines.push(z.record(z.string(), z.unknown()).parse(JSON.parse(String(text))));
    });
  }
  await send('read', FEED, withKey(site));
  const unnamed = { ...vars, CF_VERSION_METADATA: { id: '', tag: '', timestamp: '' } };
  const noVersion = { headers: { 'X-Request-ID': 'no-version' } };
  await sendWith(unnamed, '/api/health', noVersion, createApp());
  await send('read-by-token', FEED, {
    headers: { 'x-api-key': '', Authorization: `Bearer ${await provider.sign()}` },
  });
  await send('missing', `${FEED}/no-such-home`, withKey(site));
  await send('bad-limit', `${FEED}?limit=0`, withKey(site));
  await send('unknown-key', FEED, { headers: { 'x-api-key': 'nobody-knows-it' } });
  await send('expired-key', FEED, withKey(old));
  await send('no-scope', '/api/v1/events', withKey(site));
  await send('expired-token', FEED, {
    headers: { 'x-api-key': 'none', Authorization: `Bearer ${await provider.sign({ exp: 1 })}` },
  });
  const preflight = { Origin: 'https://shop.example.com', 'Access-Control-Request-Method': 'GET' };
  await send('preflight', FEED, { method: 'OPTIONS', headers: preflight });
  await send('accepted', INGEST, posting('key-1-of-the-log', 'a'));
  await send('replayed', INGEST, posting('key-1-of-the-log', 'a'));
  await send('conflict', INGEST, posting('key-1-of-the-log', 'b'));
  const unfit = ingestInit(bookingCreated({ payload: { check_in: 'soon' } }));
  const postedBy = { ...unfit.headers, 'x-api-key': booking.key };
  await send('bad-payload', INGEST, { ...unfit, headers: postedBy });
  const limits = { RATE_LIMIT_DEFAULT: '1', RATE_LIMIT_INGEST: '1' };
  const address = { 'CF-Connecting-IP': freshAddress() };
  const limited = (headers: Record<string, string>) => ({ headers: { ...headers, ...address } });
  await send('last-allowed', FEED, limited({ 'x-api-key': site.key }), limits);
  await send('limited', FEED, limited({ 'x-api-key': site.key }), limits);
  for (const id of ['last-event', 'limited-event']) {
    const post = posting(id, 'a');
    await send(id, INGEST, { ...post, headers: { ...post.headers, ...address } }, limits);
  }
  const slowCounter = tapObjects(env.RATE_COUNTER, async (call) => {
    await scheduler.wait(SLOW_COUNTER_MS);
    return call();
  });
  const slowly = { headers: { 'x-api-key': site.key, 'CF-Connecting-IP': freshAddress() } };
  const slow = { RATE_COUNTER: slowCounter, RATE_LIMIT_DEFAULT: '2' };
  await Promise.all([
    send('counted-beside', FEED, slowly, slow),
    send('slow-counter', FEED, slowly, slow),
  ]);
  const passing = failingD1(env.DB, { when: 'before commit', message: CONNECTION_LOST, times: 1 });
  await send('repeated-call', '/api/v1/events', withKey(booking), { DB: passing });
  const broken = failingD1(env.DB, { when: 'before commit' });
  await send('d1-down', '/api/v1/events', withKey(booking), { DB: broken });
  const slowKv = tapKv(env.IDEMPOTENCY, {
    get: async () => Promise.reject(new Error('KV is down')),
  });
  await send('kv-down', INGEST, posting('key-2-of-the-log', 'a'), { IDEMPOTENCY: slowKv });

  vi.useFakeTimers({ toFake: ['Date'] });
  const cached = { FEED_CACHE_SECONDS: '1' };
  // An isolate has one cache, made with the vars of its first request.
  const caching = createApp();
  await send('cached', `${FEED}?limit=3`, withKey(site), cached, caching);
  vi.setSystemTime(Date.now() + 60_000);
  await send('stale', `${FEED}?limit=3`, withKey(site), { ...cached, DB: broken }, caching);
  vi.useRealTimers();
});
afterAll(() => vi.restoreAllMocks());

/** Question → the requests whose lines it finds, and requests whose lines it must not find. */
const FOUND: Record<string, { yes: string[]; no: string[] }> = {
  'What happened to this request': { yes: ['d1-down'], no: ['read'] },
  'What is rejected, and why': {
    yes: ['missing', 'bad-limit', 'unknown-key', 'no-scope', 'conflict', 'limited', 'd1-down'],
    no: ['read', 'accepted', 'stale'],
  },
  'What is rejected, from whom': {
    yes: ['bad-limit', 'bad-payload'],
    no: ['missing', 'conflict', 'accepted'],
  },
  'Whose key is rejected': {
    yes: ['unknown-key', 'expired-key', 'expired-token'],
    no: ['no-scope'],
  },
  'Whose key has expired': { yes: ['expired-key'], no: ['unknown-key'] },
  'Who lacks a scope': { yes: ['no-scope'], no: ['expired-key'] },
  'Why are tokens rejected': { yes: ['expired-token'], no: ['read-by-token'] },
  'What is being limited': {
    yes: ['limited', 'limited-event'],
    no: ['last-allowed', 'last-event'],
  },
  'Who calls, and what': { yes: ['read', 'read-by-token', 'no-scope'], no: ['unknown-key'] },
  'Is the old key still in use': { yes: ['expired-key'], no: ['read'] },
  'What becomes of events': { yes: ['accepted', 'replayed', 'conflict'], no: ['read'] },
  'How slow is D1': { yes: ['read', 'accepted', 'd1-down'], no: ['unknown-key'] },
  'Are calls of D1 being repeated': { yes: ['repeated-call'], no: ['read', 'accepted'] },
  'How slow is the rate counter': {
    yes: ['slow-counter'],
    no: ['counted-beside', 'limited', 'limited-event'],
  },
  'Has D1 failed or stalled': { yes: ['stale'], no: ['cached'] },
  'What fails': { yes: ['d1-down', 'kv-down', 'stale'], no: ['read', 'no-scope'] },
  'Does the new version fail more': { yes: ['d1-down'], no: ['no-scope'] },
  'How long do responses take': { yes: ['read', 'limited'], no: [] },
};

describe('the questions', () => {
  it('are the questions that are tried', () => {
    const untried = questions.filter(
      ({ question }) => !Object.keys(FOUND).some((tried) => question.startsWith(tried)),
    );
    expect(untried).toEqual([]);
    expect(questions).toHaveLength(Object.keys(FOUND).length);
  });

  it.each(questions)('$question', ({ question, filters, shown, groups }) => {
    const [, { yes, no } = { yes: [], no: [] }] =
      Object.entries(FOUND).find(([tried]) => question.startsWith(tried)) ?? [];
    const meant = filters.map((filter) =>
      filter.replace('REQUEST-ID', 'd1-down').replace('KEY-NAME', 'old-site'),
    );
    const found = lines.filter((line) => meant.every((filter) => passes(line, filter)));
    const ids = new Set(found.map((line) => line.request_id));
    expect([...ids]).toEqual(expect.arrayContaining(yes));
    expect(no.filter((id) => ids.has(id))).toEqual([]);
    // Each field that is shown or grouped by is on one of the lines at least.
    for (const field of groups) {
      expect(
        found.some((line) => line[field] !== undefined),
        field,
      ).toBe(true);
    }
    const [measured] = codesIn(shown);
    if (measured === undefined) expect(['', 'Count']).toContain(shown);
    else expect(found.map((line) => typeof line[measured])).toEqual(found.map(() => 'number'));
  });

  it('show the failure of a request under its id, with its cause', () => {
    const own = lines.filter((line) => line.request_id === 'd1-down');
    expect(own.map(({ level }) => level).sort()).toEqual(['error', 'info']);
    expect(own.find(({ level }) => level === 'error')?.cause).toContain('D1_ERROR');
  });
});

describe('the fields', () => {
  const documented = rowsOf('field of a request').flatMap(([names = '']) => codesIn(names));
  const requestLines = () => lines.filter(({ message }) => message === 'request');
  const written = () =>
    requestLines()
      .flatMap((line) => Object.keys(line))
      .filter((name) => name !== 'message');

  it('of a request are the fields of the document, and no more', () => {
    expect([...new Set(written())].sort()).toEqual(documented.toSorted());
  });

  it.each([
    [
      'read',
      { caller: 'site', colo: 'FRA', version: VERSION_ID, status: 200, database_attempts: 1 },
    ],
    ['read-by-token', { caller: 'bearer' }],
    ['expired-key', { caller: 'old-site', key_fault: 'expired', status: 401 }],
    ['preflight', { rejected_origin: 'https://shop.example.com' }],
    ['no-scope', { caller: 'site', error_code: 'permission_denied' }],
    ['accepted', { outcome: 'accepted', caller: 'booking-system' }],
    ['replayed', { outcome: 'replayed', status: 200 }],
    ['conflict', { outcome: 'conflict', status: 409 }],
    ['bad-payload', { caller: 'booking-system', error_param: 'payload.check_in' }],
    ['repeated-call', { status: 200, database_attempts: 2 }],
    ['no-version', { version: '1.0.0' }],
  ])('of %s are %j', (id, fields) => {
    expect(requestLines().find(({ request_id }) => request_id === id)).toMatchObject(fields);
  });

  it('have the time that the call of a counter took', () => {
    const slow = requestLines().find(({ request_id }) => request_id === 'slow-counter');
    expect(slow?.counter_ms).toBeGreaterThanOrEqual(SLOW_COUNTER_MS);
  });

  it('name no caller of a request that is rejected before its credential is read', () => {
    const callers = requestLines()
      .filter(({ status }) => status === 429)
      .map(({ request_id, caller }) => [request_id, caller]);
    expect(callers).toEqual([
      ['limited', undefined],
      ['limited-event', undefined],
    ]);
  });
});
