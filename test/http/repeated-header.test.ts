/** Headers that are sent twice: a retry interceptor, a gateway or a proxy adds its own copy. */

import { expect, it } from 'vitest';
import { sentOnce } from '../../src/http/repeated-header.ts';
import { bookingCreated, expectEvent, ingest, listEvents } from '../support/events.ts';
import { API_KEY, expectError, expectStatus, get, send, sendWith } from '../support/http.ts';
import { createProvider } from '../support/tokens.ts';

const INGEST = '/api/public/events/ingest';
const JSON_TYPE = 'application/json; charset=utf-8';
const body = JSON.stringify(bookingCreated());

/** The Fetch API joins what `append` adds, as it joins the lines of a request. */
function headersOf(...lines: [name: string, value: string][]): Headers {
  const headers = new Headers();
  for (const [name, value] of lines) headers.append(name, value);
  return headers;
}

it.each([
  ['a', 'a'],
  ['a, a', 'a'],
  ['a, a, a', 'a'],
  ['a, b, a, b', 'a, b'],
  ['a, b', 'a, b'],
  ['a, a, b', 'a, a, b'],
  ['a,a', 'a,a'],
  ['aa, a', 'aa, a'],
  [', ', ''],
  ['', ''],
])('%j was sent once as %j', (value, once) => {
  expect(sentOnce(value)).toBe(once);
});

it('a Content-Type, a Content-Encoding and an API key that are sent twice count as sent once', async () => {
  const key = API_KEY;
  const twice = ['x-api-key', 'Content-Type', 'Content-Encoding'] as const;
  const values = { 'x-api-key': key, 'Content-Type': JSON_TYPE, 'Content-Encoding': 'identity' };
  const lines = [...twice, ...twice].map((name): [string, string] => [name, values[name]]);
  const init = { method: 'POST', headers: headersOf(...lines), body };
  await expectEvent(await send(INGEST, init), 202);

  const other = headersOf(['x-api-key', key], ['x-api-key', 'other'], ['Content-Type', JSON_TYPE]);
  const rejected = await send(INGEST, { method: 'POST', headers: other, body });
  await expectError(rejected, 401, 'authentication_invalid');
  const types = headersOf(['Content-Type', 'application/json'], ['Content-Type', 'text/plain']);
  const mixed = await send(INGEST, { method: 'POST', headers: types, body });
  await expectError(mixed, 415, 'unsupported_media_type');
});

it('a bearer token that is sent twice counts as sent once', async () => {
  const provider = await createProvider('key-1');
  const token = `Bearer ${await provider.sign()}`;
  const headers = headersOf(['Authorization', token], ['Authorization', token], ['x-api-key', '']);
  await expectStatus(await sendWith(provider.vars, '/api/v1/web/properties', { headers }), 200);
});

it('an Idempotency-Key that is sent twice is rejected, and stores nothing', async () => {
  const key = crypto.randomUUID();
  const event = bookingCreated({ aggregate_id: key });
  const problem = { message: expect.stringMatching(/^was sent twice/) };
  for (const sent of [`${key}, ${key}`, `${key}, ${key}, ${key}`]) {
    const error = await expectError(await ingest(event, sent), 400, 'validation_error');
    expect(error.details).toEqual([{ path: 'Idempotency-Key', ...problem }]);
  }
  const events = [{ ...event, idempotency_key: `${key}, ${key}` }];
  const batch = await send(`${INGEST}/batch`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  const error = await expectError(batch, 400, 'validation_error');
  expect(error.details).toEqual([{ path: 'events.0.idempotency_key', ...problem }]);
  expect((await listEvents(`aggregate_id=${key}`)).data).toEqual([]);
});

it('two keys in one Idempotency-Key are one key', async () => {
  const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
  await expectEvent(await ingest(bookingCreated(), `${one}, ${other}`), 202);
  await expectEvent(await ingest(bookingCreated(), `${one}, ${other}`), 200);
});

it('an empty API key that is sent twice is empty', async () => {
  const headers = headersOf(['x-api-key', ''], ['x-api-key', '']);
  const error = await expectError(
    await get('/api/v1/events', { headers }),
    401,
    'authentication_invalid',
  );
  expect(error.message).toContain('empty');
});
