/** Headers that arrive twice because a retry interceptor, a gateway or a proxy has added a copy. */

import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest, ingestInit, listEvents } from '../support/events.ts';
import { API_KEY, expectProblems, expectStatus, send, sendWith } from '../support/http.ts';
import { createProvider } from '../support/tokens.ts';

const INGEST = '/api/public/events/ingest';
const JSON_TYPE = 'application/json; charset=utf-8';
const body = JSON.stringify(bookingCreated());

type Line = [name: string, value: string];

/** Builds headers. `append` joins repeated values just as the Fetch API does for a request. */
function buildHeaders(...lines: Line[]): Headers {
  const headers = new Headers();
  for (const [name, value] of lines) headers.append(name, value);
  return headers;
}

const provider = await createProvider('key-1');
const TOKEN = `Bearer ${await provider.sign()}`;
const FEED = '/api/v1/web/properties';
const KEY: Line = ['x-api-key', API_KEY];
const TYPE: Line = ['Content-Type', JSON_TYPE];
const PLAIN: Line = ['Content-Encoding', 'identity'];

it.each<[path: string, status: number, ...Line[]]>([
  [INGEST, 202, KEY, TYPE, PLAIN, KEY, TYPE, PLAIN],
  [INGEST, 401, KEY, ['x-api-key', 'other'], TYPE],
  [INGEST, 401, ['x-api-key', ''], ['x-api-key', ''], TYPE],
  [INGEST, 415, ['Content-Type', 'application/json'], ['Content-Type', 'text/plain']],
  [FEED, 200, ['x-api-key', ''], ['Authorization', TOKEN], ['Authorization', TOKEN]],
  [FEED, 401, ['x-api-key', ''], ['Authorization', TOKEN], ['Authorization', `${TOKEN}AA`]],
])('handles repeated headers at %s with the status %i (%#)', async (path, status, ...lines) => {
  const init = path === INGEST ? { method: 'POST', body } : {};
  const response = await sendWith(provider.vars, path, {
    ...init,
    headers: buildHeaders(...lines),
  });
  await expectStatus(response, status);
});

const TWICE = [expect.stringMatching(/^was sent twice/)];
const [A, B] = [crypto.randomUUID(), crypto.randomUUID()];

it.each<[key: string, isOne: boolean]>([
  [`${A}, ${A}`, false],
  [`${A}, ${A}, ${A}`, false],
  // Each copy is within the maximum length of a key, but the joined value is not.
  [`${A.repeat(7)}, ${A.repeat(7)}`, false],
  [`${A}, ${B}`, true],
])('accepts the Idempotency-Key %s only if it is not a repeated key (%s)', async (key, isOne) => {
  const event = bookingCreated({ aggregate_id: crypto.randomUUID() });
  const events = [{ ...event, idempotency_key: key }];
  const single = await ingest(event, key);
  const batch = await send(`${INGEST}/batch`, ingestInit({ events }));
  if (isOne) {
    await expectEvent(single, 202);
    await expectStatus(batch, 200);
  } else {
    expect(await expectProblems(single, ['Idempotency-Key'])).toEqual(TWICE);
    expect(await expectProblems(batch, ['events.0.idempotency_key'])).toEqual(TWICE);
  }
  const { data } = await listEvents(`aggregate_id=${event.aggregate_id}`);
  expect(data).toHaveLength(isOne ? 1 : 0);
});
