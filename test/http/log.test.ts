/** The lines that the service logs. In addition, vitest/watch-log.ts checks the log of every test. */

import { expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { send, sendWith } from '../support/http.ts';
import { watchLog } from '../support/log.ts';

const FEED = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';

it('logs one line per request without the path or the query', async () => {
  const lines = watchLog('log');
  await sendWith(
    { CF_VERSION_METADATA: { id: 'version-8', tag: '', timestamp: '' } },
    `${FEED}/some-home?utm_source=secret`,
    { headers: { 'X-Request-ID': 'trace-8' } },
  );
  expect(lines()).toEqual([
    {
      level: 'info',
      message: 'request',
      request_id: 'trace-8',
      method: 'GET',
      route: '/api/v1/web/properties/:slugOrId',
      status: 404,
      duration_ms: expect.any(Number),
      error_code: 'resource_missing',
      caller: 'api-key',
      cache: 'database',
      database_ms: expect.any(Number),
      database_attempts: 1,
      version: 'version-8',
    },
  ]);
});

it.each([
  ['PUT', `${FEED}/some-home`, '/api/v1/web/properties/:slugOrId', 405],
  ['HEAD', INGEST, INGEST, 405],
  ['PUT', '/api/none', '/*', 404],
])('logs %s %s under the route %s', async (method, path, route, status) => {
  const lines = watchLog('log');
  await sendWith({}, path, { method });
  expect(lines()).toMatchObject([{ method, route, status }]);
});

const ingest = (changes: Record<string, unknown>, key?: string) =>
  [INGEST, ingestInit(bookingCreated(changes), key)] as const;
const batch = (...changes: object[]) => {
  const events = changes.map((fields, index) => ({
    ...bookingCreated({ idempotency_key: `log-${index}`, ...fields }),
  }));
  return [`${INGEST}/batch`, ingestInit({ events })] as const;
};

it.each<[field: string, path: string, init: RequestInit]>([
  ['payload.check_in', ...ingest({ payload: { check_in: 'soon' } })],
  ['event_type', ...ingest({ event_type: 'sent.secret' })],
  ['payload', ...ingest({ payload: { sent: { secret: 2 ** 60 } } })],
  ['Idempotency-Key', ...ingest({}, 'k'.repeat(256))],
  ['body', ...ingest({ sent: 'secret' })],
  ['body', ...ingest({ 'payload.sent': 'secret' })],
  ['events.payload.check_in', ...batch({}, { payload: { check_in: 'soon' } })],
  ['events.payload', ...batch({ payload: { sent: 2 ** 60 } })],
  ['events.idempotency_key', ...batch({ idempotency_key: 7 })],
  ['events', ...batch({ sent: 'secret' })],
  ['limit', `${EVENTS}?limit=0`, {}],
  ['after_id', `${EVENTS}?after_id=${crypto.randomUUID()}`, {}],
  ['query', `${EVENTS}?sent=secret`, {}],
  ['body', INGEST, ingestInit('{"sent')],
])('names the invalid parameter %s in the log line (%#)', async (field, path, init) => {
  const lines = watchLog('log');
  expect((await send(path, init)).status).toBe(400);
  const [line, ...others] = lines();
  expect(others).toEqual([]);
  expect([line.error_code, line.error_param]).toEqual(['validation_error', field]);
  expect(JSON.stringify(line)).not.toMatch(/sent|secret/);
});

it('logs hostile values from callers as one short line', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
  const name = 'x'.repeat(8_192);
  const id = 'a\u0085b\u009b31m\u2028{"level":"error"}';
  for (const headers of [
    { 'X-Request-ID': id, 'CF-Worker': name },
    { 'X-Request-ID': name, 'x-api-key': `epf_${name}` },
    { Origin: `https://${name}.example`, Authorization: `Bearer ${name}` },
  ]) {
    await sendWith({}, `${FEED}?${name}=1`, { headers });
    const preflight = { ...headers, 'Access-Control-Request-Method': 'GET' };
    await sendWith({}, FEED, { method: 'OPTIONS', headers: preflight });
  }
  const lines = log.mock.calls.map(([line]) => String(line));
  expect(lines).toHaveLength(6);
  for (const line of lines) {
    expect(line).toMatch(/^\{[^\p{Cc}\u2028\u2029]{100,700}\}$/u);
  }
  expect(JSON.parse(lines[0] ?? '').request_id).toBe(id);
});

it('logs an edge-cache error with the request id, even after the response', async () => {
  const faults = watchLog('error');
  vi.spyOn(caches.default, 'match').mockRejectedValue(new Error('no cache'));
  vi.spyOn(caches.default, 'put').mockRejectedValue(new Error('no cache'));
  const headers = { 'X-Request-ID': 'edge-1' };
  await sendWith({ FEED_CACHE_SECONDS: '60' }, `${FEED}?limit=7`, { headers }, createApp());
  const ids = faults().map(({ request_id }) => request_id);
  expect(ids.length).toBeGreaterThan(1);
  expect(new Set(ids)).toEqual(new Set(['edge-1']));
});
