/** The hints that error messages give for common mistakes. */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { bookingCreated, ingestInit, listEvents } from '../support/events.ts';
import { expectError, sendWith } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const BATCH = `${INGEST}/batch`;
const EVENTS = '/api/v1/events';
const LIST = '/api/v1/web/properties';
const CHANGES = '/api/v1/web/property-changes';
const LOCAL = `http://localhost:3001${EVENTS}`;

type Mistake = [url: string, init?: RequestInit, vars?: object];

const post = (body: unknown, headers: Record<string, string> = {}, url = INGEST): Mistake => [
  url,
  ingestInit(body, undefined, headers),
];
const withPayload = (payload: unknown) => post(bookingCreated({ payload }));
const withHeaders = (headers: Record<string, string>, url = EVENTS): Mistake => [url, { headers }];

const PLUS = 'The + of its offset became a space. In a URL, write it as %2B.';
const CAPITALS = 'Write T and Z in capitals.';
const BRACKETS = 'Leave out the zone in brackets.';
const TWICE = 'It is JSON in a string. Encode it only once.';
const OBJECT = 'Send {}, not [].';
const SET_UP = 'This working copy is not set up: run `npm run dev` once.';
const UNSET = { API_KEY: undefined };
const item = (fields: object) => ({ ...bookingCreated(), idempotency_key: 'k', ...fields });

const MISTAKES: [hint: string, ...mistakes: Mistake[]][] = [
  // test/events/misplaced-keys.test.ts covers other misplaced keys.
  ['Send the Idempotency-Key header, or', post({ events: [item({ event_id: 'k' })] }, {}, BATCH)],
  ['Use cursor.', [`${LIST}?page[size]=1`], [`${EVENTS}?starting_after=a`], [`${LIST}?After=a`]],
  ['Use after.', [`${CHANGES}?cursor=a`], [`${CHANGES}?page_token=a`]],
  ['Use locale.', [`${LIST}?lang=es`], [`${LIST}/some-home?language=es`], [`${LIST}?LOCALE[0]=es`]],
  ['Use type.', [`${EVENTS}?event_type=a`], [`${LIST}?Type=beach`]],
  ['Use location.', [`${LIST}?location_slug=ibiza`]],
  ['Use limit.', [`${LIST}?limit[]=3`], [`${EVENTS}?limit[0]=3`]],
  [
    'Send two or more events as {"events": […]} to /api/public/events/ingest/batch.',
    post([bookingCreated()]),
    post([item({})], {}, BATCH),
  ],
  [OBJECT, withPayload([]), post({ events: [[]] }, {}, BATCH), post([])],
  [
    TWICE,
    withPayload('{"guests":2}'),
    post(JSON.stringify(JSON.stringify(bookingCreated()))),
    post({ events: JSON.stringify([item({})]) }, {}, BATCH),
  ],
  [
    PLUS,
    [`${EVENTS}?created_after=2027-01-01T00:00:00+02:00`],
    [`${EVENTS}?created_after=2027-06-01T12:00 0200`],
    [`${EVENTS}?created_after=2027-06-01T12:00:00.5 02`],
  ],
  [
    CAPITALS,
    [`${EVENTS}?created_before=2027-01-01T00:00:00z`],
    [`${EVENTS}?created_after=2027-06-01t12:00:00%2B02:00`],
  ],
  [
    BRACKETS,
    [`${EVENTS}?created_before=2027-06-01T12:00:00%2B02:00[Europe/Madrid]`],
    [`${EVENTS}?created_after=2027-01-01T00:00:00Z[UTC]`],
  ],
  [
    SET_UP,
    [LOCAL, {}, UNSET],
    ['http://127.0.0.1:8787/api/v1/events', {}, UNSET],
    ['http://[::1]:3001/api/v1/events', {}, UNSET],
  ],
];

const rows = MISTAKES.flatMap(([hint, ...mistakes]) =>
  mistakes.map((mistake) => [hint, mistake] as const),
);

async function getError([url, init, vars = {}]: Mistake) {
  const response = await sendWith(vars, url, init);
  const { error } = await response.clone().json<{ error: { code: string } }>();
  return { status: response.status, ...(await expectError(response, response.status, error.code)) };
}

it.each(rows)('returns the hint "%s" (%#)', async (hint, mistake) => {
  const { message, details } = await getError(mistake);
  expect(message).toContain(`. ${hint}`);
  if (details) expect(details.map((problem) => problem.message).join()).toContain(`. ${hint}`);
});

it('adds a hint to every problem in a request', async () => {
  const times = 'created_after=2027-06-01T12:00:00z&created_before=2027-06-01T12:00:00Z[UTC]';
  const { details } = await getError([`${EVENTS}?${times}`]);
  const ends = [CAPITALS, BRACKETS].map((hint) => expect.stringContaining(hint));
  expect(details?.map(({ message }) => message)).toEqual(ends);
});

describe.each([
  'undefined',
  'null',
  'bk_undefined',
  'NaN-created',
  'None-created',
  'bk_%s',
  '{{$json.id}}',
  `\${id}`,
  '[object Object]',
])('the unfilled template %s as a key', (key) => {
  const SHARED = 'looks like a template that was not filled in';

  it('gets a hint when it is sent again with a different body', async () => {
    const aggregate_id = crypto.randomUUID();
    const events = [1, 2].map((guests) => bookingCreated({ aggregate_id, payload: { guests } }));
    const [first, second] = events.map((event) => post(event, { 'Idempotency-Key': key }));
    await sendWith({}, ...(first as [string, RequestInit]));
    const error = await getError(second as Mistake);
    expect(error.code).toBe('idempotency_key_in_use');
    expect(error.message).toContain(SHARED);

    const batch = (...sent: object[]) =>
      post({ events: sent.map((event) => ({ ...event, idempotency_key: key })) }, {}, BATCH);
    const [url, init] = batch(events[1] ?? {});
    const response = await sendWith({}, url, init);
    const { data } = await response.json<{ data: { error: { message: string } }[] }>();
    expect(data[0]?.error.message).toContain(SHARED);
    const twice = await getError(batch(...events));
    expect(twice.details).toEqual([
      { path: 'events.1.idempotency_key', message: expect.stringContaining(SHARED) },
    ]);
    expect((await listEvents(`aggregate_id=${aggregate_id}`)).data).toHaveLength(1);
  });
});

it.each<[right: string, Mistake]>([
  [
    'a key that only resembles a template',
    post(bookingCreated({ payload: 7 }), { 'Idempotency-Key': 'nullify-1' }),
  ],
  ['an unrelated parameter', [`${LIST}?sort=name`]],
  ['a name that the route does not support', [`${EVENTS}?lang=es`]],
  ['an unknown field', post(bookingCreated({ toString: 7 }))],
  ['a filter by event_id', [`${EVENTS}?event_id=a`]],
  ['a non-empty list instead of an object', withPayload([7])],
  ['a list instead of an event', post({ events: [[item({})]] }, {}, BATCH)],
  ['an unknown key', withHeaders({ 'x-api-key': 'wrong' })],
  ['a working copy that is set up', [LOCAL, { headers: { 'x-api-key': 'wrong' } }]],
  ['a public host', [`https://api.example.com${EVENTS}`, {}, UNSET]],
])('returns no hint for %s', async (_, mistake) => {
  const { message } = await getError(mistake);
  for (const [hint] of MISTAKES) expect(message).not.toContain(hint);
});

it('suggests setting up a working copy whose tables are missing', async () => {
  await env.DB.exec('ALTER TABLE events RENAME TO away');
  const { status, message } = await getError([LOCAL]);
  await env.DB.exec('ALTER TABLE away RENAME TO events');
  expect(status).toBe(500);
  expect(message).toContain(SET_UP);
});

it('keeps invalid values out of the log', async () => {
  const log = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')];
  await getError(withPayload({ guests: 'canary-1', 'canary-2': '\ud800', check_in: 'canary-3' }));
  await getError(post(JSON.stringify('{"canary-4":1}')));
  await getError([`${LIST}?canary-5=1&type=canary-6`]);
  await getError(withHeaders({ 'x-api-key': 'wrong', Authorization: 'Bearer canary-7' }));
  const lines = log.flatMap((spy) => spy.mock.calls).join('\n');
  expect(lines).toContain('validation_error');
  expect(lines).not.toContain('canary');
});
