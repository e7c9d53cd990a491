/** The log of the whole suite is read: see support/watch-log.ts. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { logFault } from '../../src/http/log.ts';
import { get, send, sendWith } from '../support/http.ts';
import { AUDIENCE, createProvider, ISSUER } from '../support/tokens.ts';
import { takeLeaks } from '../support/watch-log.ts';

const INGEST = '/api/public/events/ingest';
const secrets = {
  'an API key': 'leaked-api-key-1',
  'a bearer token': 'leaked.bearer.token',
  'an Idempotency-Key': 'leaked-idempotency-key',
  'a value of a body': 'leaked "value"',
  'a value of a query': 'leaked-query-value',
};

describe('the watch over the log', () => {
  it.each(Object.entries(secrets))('finds %s, in a line and in a cause', async (_name, secret) => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    await send(`${INGEST}?q=${secrets['a value of a query']}`, {
      method: 'POST',
      headers: {
        'x-api-key': secrets['an API key'],
        Authorization: `Bearer ${secrets['a bearer token']}`,
        'Idempotency-Key': secrets['an Idempotency-Key'],
      },
      body: JSON.stringify({ payload: { list: [{ note: secrets['a value of a body'] }] } }),
    });
    expect(takeLeaks()).toEqual([]);
    console.log(JSON.stringify({ note: `it was ${secret}` }));
    expect(takeLeaks()).toHaveLength(1);
    logFault('failed', new Error('outside', { cause: new Error(`inside: ${secret}`) }));
    expect(takeLeaks()).toHaveLength(1);
    vi.restoreAllMocks();
  });
});

describe('the log line of an invalid request', () => {
  const body = (changes: object) => ({
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: {},
    ...changes,
  });
  const ingest = (changes: object) => [INGEST, body(changes)] as const;
  const batch = (...changes: object[]) =>
    [
      `${INGEST}/batch`,
      { events: changes.map((each, index) => body({ idempotency_key: `log-${index}`, ...each })) },
    ] as const;
  const EVENTS = '/api/v1/events';

  it.each([
    ['payload.check_in', ...ingest({ payload: { check_in: 'soon' } })],
    ['event_type', ...ingest({ event_type: 'sent.secret' })],
    ['payload', ...ingest({ payload: { sent: { secret: 2 ** 60 } } })],
    ['payload', ...ingest({ payload: 'sent' })],
    [undefined, ...ingest({ sent: 'secret' })],
    [undefined, ...ingest({ 'payload.sent': 'secret' })],
    [undefined, ...ingest({ sent: 2 ** 60 })],
    ['events.payload.check_in', ...batch({}, { payload: { check_in: 'soon' } })],
    ['events.payload', ...batch({ payload: { sent: 2 ** 60 } })],
    ['events.idempotency_key', ...batch({ idempotency_key: 7 })],
    ['events', ...batch({ sent: 'secret' })],
    ['limit', `${EVENTS}?limit=0`, undefined],
    ['type', `${EVENTS}?type=a&type=`, undefined],
    ['after_id', `${EVENTS}?after_id=${crypto.randomUUID()}`, undefined],
    [undefined, `${EVENTS}?sent=secret`, undefined],
  ])('names %s, as a schema does', async (field, path, sent) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const init = sent && {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(sent),
    };
    expect((await send(path, init)).status).toBe(400);
    const lines = log.mock.calls.map(([line]) => String(line));
    log.mockRestore();
    expect(lines).toHaveLength(1);
    const line: unknown = JSON.parse(lines.join());
    expect(line).toHaveProperty('error_code', 'validation_error');
    if (field === undefined) expect(line).not.toHaveProperty('error_param');
    else expect(line).toHaveProperty('error_param', field);
    expect(lines.join()).not.toMatch(/sent|secret/);
  });

  it('names the header of an invalid key', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    await send(INGEST, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'k'.repeat(256) },
      body: JSON.stringify(body({})),
    });
    const [line] = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    log.mockRestore();
    expect(line).toHaveProperty('error_param', 'Idempotency-Key');
  });
});

describe('a fault of a request', () => {
  const FEED = '/api/v1/web/properties';
  afterEach(() => vi.restoreAllMocks());

  /** Returns the faults that were logged, as message and request id. */
  function watchFaults() {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    return () =>
      log.mock.calls.map(([line]) => {
        const { message, request_id } = JSON.parse(String(line));
        return `${message} ${request_id}`;
      });
  }

  it('of the key set is logged under its id, also when the caches fail', async () => {
    const faults = watchFaults();
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('no route'));
    vi.spyOn(caches.default, 'match').mockRejectedValue(new Error('no cache'));
    const provider = await createProvider();
    const JWT_JWKS_URL = `https://identity.example.com/${crypto.randomUUID()}`;
    const vars = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS: '', JWT_JWKS_URL };
    const Authorization = `Bearer ${await provider.sign()}`;
    const headers = { 'x-api-key': '', Authorization, 'X-Request-ID': 'key-set-1' };
    expect((await sendWith(vars, FEED, { headers })).status).toBe(500);
    expect(faults()).toEqual([
      'the cached key set could not be read key-set-1',
      'the key set could not be renewed key-set-1',
      'request failed key-set-1',
    ]);
  });

  it('of caching a key set, after the answer, is logged under its id', async () => {
    const faults = watchFaults();
    const provider = await createProvider();
    vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response(provider.jwks));
    vi.spyOn(caches.default, 'put').mockRejectedValue(new Error('no cache'));
    const JWT_JWKS_URL = `https://identity.example.com/${crypto.randomUUID()}`;
    const vars = { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS: '', JWT_JWKS_URL };
    const Authorization = `Bearer ${await provider.sign()}`;
    const headers = { 'x-api-key': '', Authorization, 'X-Request-ID': 'key-set-2' };
    expect((await sendWith(vars, FEED, { headers })).status).toBe(200);
    expect(faults()).toContain('the key set could not be cached key-set-2');
  });

  it('of the edge cache is logged under its id, before and after the answer', async () => {
    const faults = watchFaults();
    vi.spyOn(caches.default, 'match').mockRejectedValue(new Error('no cache'));
    vi.spyOn(caches.default, 'put').mockRejectedValue(new Error('no cache'));
    const vars = { FEED_CACHE_SECONDS: '60' };
    const headers = { 'X-Request-ID': 'edge-1' };
    await sendWith(vars, `${FEED}?limit=7`, { headers }, createApp());
    expect(faults()).toHaveLength(2);
    expect(faults().filter((fault) => !fault.endsWith(' edge-1'))).toEqual([]);
  });

  it('has the id of its own request, beside concurrent requests', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const ids = Array.from({ length: 20 }, (_, index) => `beside-${index}`);
    await Promise.all(
      ids.map((id, index) =>
        get(index % 2 === 0 ? '/api/v1/events' : '/api/v1/events/none', {
          headers: { 'X-Request-ID': id },
        }),
      ),
    );
    const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
    for (const [index, id] of ids.entries()) {
      expect(lines.find(({ request_id }) => request_id === id)?.database_attempts).toBe(
        index % 2 === 0 ? 1 : undefined,
      );
    }
  });
});
