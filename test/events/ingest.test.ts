import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest, ingestInit } from '../support/events.ts';
import { expectError, expectProblems, expectStatus, send, sendWith } from '../support/http.ts';
import { deriveEventId, namedKey } from '../support/keys.ts';

const INGEST = '/api/public/events/ingest';

const freshKey = () => crypto.randomUUID();
const sendBatch = (body: unknown) => send(`${INGEST}/batch`, ingestInit(body));

describe('POST /api/public/events/ingest', () => {
  it('replays the response if the same key and body are sent again', async () => {
    const key = freshKey();
    const response = await ingest(bookingCreated(), key);
    const event = await expectEvent(response, 202);
    expect(event).toMatchObject({ object: 'event', type: 'booking.created', status: 'pending' });
    expect(Math.abs(Date.now() - Date.parse(event.created_at))).toBeLessThan(60_000);
    expect(response.headers.has('Idempotent-Replayed')).toBe(false);
    const replay = await ingest(bookingCreated(), key);
    expect(await expectEvent(replay, 200)).toEqual({ ...event, status: 'idempotent' });
    expect(replay.headers.get('Idempotent-Replayed')).toBe('true');
  });

  it.each([
    ['the sender of the stored event', 'sender', true],
    ['a caller with events:read', 'reader', true],
    ['another sender', 'other', false],
  ])(
    'shows the differing paths in a 409 only to permitted callers (%s)',
    async (_, caller, isShown) => {
      const keys = new Map([
        ['sender', await namedKey('sender', ['events:write'])],
        ['reader', await namedKey('reader', ['events:write', 'events:read'])],
        ['other', await namedKey('other', ['events:write'])],
      ]);
      const API_KEYS = [...keys.values()].map(({ entry }) => entry);
      const sendAs = (name: string, path: string, body: unknown, key?: string) => {
        const headers = { 'x-api-key': keys.get(name)?.key ?? '' };
        return sendWith({ API_KEYS }, path, ingestInit(body, key, headers));
      };
      const key = freshKey();
      await expectEvent(await sendAs('sender', INGEST, bookingCreated(), key), 202);
      const guess = bookingCreated({ payload: { guests: 3, currency: 'EUR' } });
      const paths = isShown ? ['payload.guests'] : undefined;
      const single = await sendAs(caller, INGEST, guess, key);
      // The caller sent the second event of the batch before, so its details are always shown.
      const callerKey = freshKey();
      await expectEvent(await sendAs(caller, INGEST, bookingCreated(), callerKey), 202);
      const events = [key, callerKey].map((idempotency_key) => ({ ...guess, idempotency_key }));
      const batch = await sendAs(caller, `${INGEST}/batch`, { events });
      const { data } = await batch.json<{ data: { error: { details?: { path: string }[] } }[] }>();
      const error = await expectError(single, 409, 'idempotency_key_in_use');
      for (const { details } of [error, data[0]?.error ?? {}]) {
        expect(details?.map(({ path }) => path)).toEqual(paths);
      }
    },
  );

  it('derives the event id from the key as a version 5 UUID', async () => {
    for (const key of ['"Quoted"', 'quoted', ' with  SPACES ', 'ünïcödé', 'k'.repeat(255)]) {
      const { id } = await expectEvent(await ingest(bookingCreated(), key), 202);
      expect(id).toBe(deriveEventId(key.trim()));
    }
    const documented = await expectEvent(
      await ingest(bookingCreated(), 'booking-1001-created'),
      202,
    );
    expect(documented.id).toBe('6bf0acc7-c31d-50b8-a7c2-7bfcd7964fd4');
  });

  it('assigns a new random id each time a body is sent without a key', async () => {
    const body = bookingCreated();
    const one = await expectEvent(await ingest(body), 202);
    const other = await expectEvent(await ingest(body), 202);
    expect(one.id).not.toBe(other.id);
    expect(one.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  });

  it('never stores the key itself', async () => {
    await ingest(bookingCreated(), 'a-very-recognisable-key');
    const { results } = await env.DB.prepare('SELECT * FROM events').all();
    expect(JSON.stringify(results)).not.toContain('a-very-recognisable-key');
    const { keys: cached } = await env.IDEMPOTENCY.list();
    expect(JSON.stringify(cached)).not.toContain('a-very-recognisable-key');
  });

  it('replays the response to a body with a different field order and notation', async () => {
    const key = freshKey();
    const form = (text: string) => `{"aggregate_type":"b","aggregate_id":"1",${text}`;
    const payload = '"event_type":"booking.created","payload":{"guests":2,"note":"é"}}';
    const other = '"payload": {"note":"\\u00e9", "guests":2.0}, "event_type":"booking.created"}';
    await expectEvent(await ingest(form(payload), key), 202);
    await expectEvent(await ingest(form(other), key), 200);
  });
});

describe('the validation of a request', () => {
  it.each([
    ['event_type', { event_type: 'no.such.kind' }],
    ['event_type', { event_type: 'toString' }],
    ['aggregate_id', { aggregate_id: '' }],
    ['aggregate_id', { aggregate_id: 'x'.repeat(256) }],
    ['aggregate_id', { aggregate_id: 'a\u0000b' }],
    ['aggregate_type', { aggregate_type: null }],
    ['payload', { payload: [] }],
    ['extra', { extra: 1 }],
    ['aggregate_id', { aggregate_id: '\u{1F600}'.repeat(256) }],
  ])('reports an invalid %s (%#)', async (param, fields) => {
    await expectProblems(await ingest(bookingCreated(fields)), [param]);
  });

  it('accepts names of 255 characters', async () => {
    const fields = { aggregate_id: 'x'.repeat(255), aggregate_type: '\u{1F600}'.repeat(255) };
    await expectEvent(await ingest(bookingCreated(fields)), 202);
  });

  it('lists every problem, starting with the key', async () => {
    const body = {
      event_type: 'booking.created',
      payload: { guests: -1, check_in: '2027-06-02', check_out: '2027-06-01' },
      more: 1,
    };
    await expectProblems(await ingest(body, 'k'.repeat(256)), [
      'Idempotency-Key',
      'aggregate_id',
      'aggregate_type',
      'payload.guests',
      'payload.check_out',
      'more',
    ]);
  });

  it('reports missing fields separately from the unknown field event_id', async () => {
    const paths = ['event_type', 'aggregate_id', 'aggregate_type', 'payload', 'event_id'];
    const types = /^is required. It must be one of .*booking\.created.*booking\.cancelled/;
    expect(await expectProblems(await ingest({ event_id: 'x' }), paths)).toEqual([
      expect.stringMatching(types),
      ...Array(3).fill('is required'),
      expect.stringContaining('is not a field'),
    ]);
  });
});

it.each([
  ['empty', '', 'must be at least 1 character long'],
  ['longer than 255 characters', 'k'.repeat(256), expect.any(String)],
  ['not UTF-8', 'k\ufffd', expect.stringContaining('Latin-1, so use ASCII')],
])('rejects an Idempotency-Key that is %s', async (_, key, message) => {
  const messages = await expectProblems(await ingest(bookingCreated(), key), ['Idempotency-Key']);
  expect(messages).toEqual([message]);
});

describe('the body of a request', () => {
  const wrapped = (json: string) =>
    `{"event_type":"booking.created","aggregate_id":"b","aggregate_type":"booking","payload":${json}}`;
  const sendInBatch = (event: string, key = freshKey()) =>
    sendBatch(`{"events":[${event.replace('{', `{"idempotency_key":"${key}",`)}]}`);
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}`;

  it.each<[kind: string, message: string, body: string | Uint8Array]>([
    [
      'malformed',
      'The body is not well-formed JSON: Unexpected end of JSON input.',
      '{"event_type":',
    ],
    ['empty', 'The body is empty.', ''],
    ['an array', 'The body must be a JSON object', '[]'],
    ['a string', 'The body must be a JSON object.', '"booking"'],
    ['not UTF-8', 'The body is not UTF-8 text.', Uint8Array.of(0x22, 0xff, 0x22)],
  ])('is rejected as a whole when it is %s', async (_, message, body) => {
    const response = await send(INGEST, { ...ingestInit(''), body });
    expect(await expectProblems(response, [''])).toEqual([expect.stringContaining(message)]);
  });

  it.each<[json: string, ...paths: string[]]>([
    ['{"n":9007199254740992}', 'payload.n'],
    ['{"n":1e400}', 'payload.n'],
    ['{"a":[1,{"n":-1e999}]}', 'payload.a.1.n'],
    ['{"__proto__":{"x":1}}', 'payload.__proto__'],
    ['{"__proto__":1,"__proto__":2,"a":1}', 'payload.__proto__'],
    ['{},"__proto__":{}', '__proto__'],
    ['{"s":"\\ud800"}', 'payload.s'],
    ['{"\\udc00":1}', 'payload.\ufffd'],
    [
      '{"a":[-1e400,{"__proto__":{"n":1e999}}],"b":"\\udfff"}',
      ...['payload.a.0', 'payload.a.1.__proto__', 'payload.b'],
    ],
    [nested(65), `payload.a${'.0'.repeat(62)}`],
  ])('is rejected for the payload %s, alone or in a batch', async (json, ...paths) => {
    await expectProblems(await ingest(wrapped(json), freshKey()), paths);
    const batchPaths = paths.map((path) => `events.0.${path}`);
    await expectProblems(await sendInBatch(wrapped(json)), batchPaths);
  });

  const TOO_MANY_DIGITS =
    'has too many digits: JSON readers would store another number. Send at most 15 digits, or text if the field accepts it.';

  it.each<[sent: string, message: string]>([
    ['9007199254740992', `9007199254740992 ${TOO_MANY_DIGITS}`],
    ['-12345678901234567890', `-12345678901234567890 ${TOO_MANY_DIGITS}`],
    ['9007199254740993.5', `9007199254740993.5 ${TOO_MANY_DIGITS}`],
    ['1'.repeat(40), `${'1'.repeat(40)} ${TOO_MANY_DIGITS}`],
    ['1'.repeat(41), `${'1'.repeat(40)}… ${TOO_MANY_DIGITS}`],
    ['1e400', '1e400 is out of range.'],
    ['-1E+999', '-1E+999 is out of range.'],
    ['9'.repeat(400), `${'9'.repeat(40)}… is out of range.`],
  ])('is rejected for the number %s, which the message quotes', async (sent, message) => {
    const payload = `{"note":"\\"7","guests":${sent},"a":[1,{"n": ${sent} }]}`;
    const event = wrapped(payload).replace('"b"', `${sent}`);
    const paths = ['aggregate_id', 'payload.guests', 'payload.a.1.n'];
    expect(await expectProblems(await ingest(event), paths)).toEqual(Array(3).fill(message));
    const batchPaths = paths.map((path) => `events.0.${path}`);
    expect(await expectProblems(await sendInBatch(event), batchPaths)).toEqual(
      Array(3).fill(message),
    );
    const outside = `{"events":[],"n":${sent}}`;
    expect(await expectProblems(await sendBatch(outside), ['n'])).toEqual([message]);
  });

  it('may be nested 64 levels deep, alone or in a batch', async () => {
    await expectEvent(await ingest(wrapped(nested(64))), 202);
    const response = await sendInBatch(wrapped(nested(64)));
    expect(await response.json()).toMatchObject({ data: [{ outcome: 'accepted' }] });
  });

  it.each(['1e999', '{"__proto__":1}', '{"\\ud83d":1}'])(
    'is rejected with at most 50 paths to the invalid value %s',
    async (value) => {
      const many = wrapped(`{"a":[${Array(80).fill(value).join()}]}`);
      const error = await expectError(await ingest(many, freshKey()), 400, 'validation_error');
      expect(error.details).toHaveLength(50);
    },
  );

  it('is rejected for names that occur twice in one object, even if the key is in use', async () => {
    const key = freshKey();
    const twice = wrapped('{"a":1,"\\u0061":2,"items":[{"b":1,"b":1}]}');
    await expectEvent(await ingest(wrapped('{"a":2,"items":[{"b":1}]}'), key), 202);
    for (const sent of [ingest(twice, key), sendInBatch(twice, key)]) {
      const messages = await expectProblems(await sent, ['']);
      expect(messages).toEqual(['A name occurs twice in one object: ["a","b"].']);
    }
  });

  it('is rejected with one problem per value, alone or in a batch', async () => {
    const payload = { occurred_at: 'hush', check_in: 'soon', currency: 'x', guest_email: 'x' };
    const event = bookingCreated({ payload, aggregate_id: '', aggregate_type: '\0'.repeat(256) });
    const paths = [
      'aggregate_id',
      'aggregate_type',
      ...Object.keys(payload).map((name) => `payload.${name}`),
    ];
    const [, message] = await expectProblems(await ingest(event), paths);
    expect(message).toBe('must be at most 255 characters long');
    const batchPaths = ['idempotency_key', ...paths].map((path) => `events.0.${path}`);
    const events = [{ ...event, idempotency_key: ' '.repeat(256) }];
    await expectProblems(await sendBatch({ events }), batchPaths);
  });

  it.each([undefined, 'a-key'])(
    'may have at most 256 KiB of canonical JSON with the key %s',
    async (key) => {
      // With its comma, each number takes 5 bytes as sent and 17 bytes as canonical JSON.
      const numbers = (count: number) => wrapped(`{"n":[${Array(count).fill('1e15').join()}]}`);
      await expectProblems(await ingest(numbers(16_000), key), ['']);
      await expectEvent(await ingest(numbers(15_000), key), 202);
    },
  );

  it.each([
    [262_144, 202],
    [262_145, 413],
  ])(
    'is limited to 256 KiB, whether or not it is sent in chunks (%i bytes → %i)',
    async (bytes, status) => {
      const text = wrapped('{}').padEnd(bytes);
      const init = { ...ingestInit(''), body: new Blob([text]).stream(), duplex: 'half' };
      await expectStatus(await send(INGEST, init), status);
      await expectStatus(await ingest(text), status);
    },
  );

  it('is read up to 16 MiB if there is no Content-Length', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
    const init = { ...ingestInit(''), body: endless, duplex: 'half' };
    await expectError(await send(INGEST, init), 413, 'payload_too_large');
    expect(sent).toBeGreaterThan(255);
    expect(sent).toBeLessThan(300);
  });

  it.each<[headers: Record<string, string>, status: number]>([
    [{ 'Content-Type': 'text/plain' }, 415],
    [{ 'Content-Type': 'application/jsonp' }, 415],
    [{}, 415],
    [{ 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, 415],
    [{ 'Content-Type': 'Application/JSON; charset=utf-8' }, 202],
  ])('must be JSON without a content encoding (%j → %i)', async (headers, status) => {
    // The body is sent as bytes, because `fetch` would add a media type to a string.
    const body = new TextEncoder().encode(JSON.stringify(bookingCreated()));
    const response = await send(INGEST, { method: 'POST', headers, body });
    await expectStatus(response, status);
    const accepted = 'Content-Encoding' in headers ? 'identity' : null;
    expect(response.headers.get('Accept-Encoding')).toBe(accepted);
  });
});

const big = `{"event_type":"none","fill":"${'x'.repeat(300_000)}"`;

it.each([
  ['credentials before the media type', 401, big, { 'x-api-key': 'x', 'Content-Type': 'text/x' }],
  ['the media type before the size', 415, big, { 'Content-Type': 'text/plain' }],
  ['the size before the JSON', 413, big, {}],
])('checks %s', async (_, status, body, headers) => {
  await expectStatus(await send(INGEST, ingestInit(body, undefined, headers)), status);
});
