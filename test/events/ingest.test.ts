import { env, exports } from 'cloudflare:workers';
import { v5 } from 'uuid';
import { describe, expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest, ingestInit } from '../support/events.ts';
import { expectDocumented, expectError, expectStatus, get, send } from '../support/http.ts';

const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';

const freshKey = () => crypto.randomUUID();

describe('POST /api/public/events/ingest', () => {
  it('accepts an event as pending', async () => {
    const response = await ingest(bookingCreated(), freshKey());
    const event = await expectEvent(response, 202);
    expect(event).toMatchObject({ object: 'event', type: 'booking.created', status: 'pending' });
    expect(Math.abs(Date.now() - Date.parse(event.created_at))).toBeLessThan(60_000);
    expect(response.headers.has('Idempotent-Replayed')).toBe(false);
    expect(response.headers.get('X-Request-ID')).toMatch(/^req_/);
  });

  it('replays the first response for the same key and body', async () => {
    const key = freshKey();
    const first = await expectEvent(await ingest(bookingCreated(), key), 202);
    const response = await ingest(bookingCreated(), key);
    expect(await expectEvent(response, 200)).toEqual({ ...first, status: 'idempotent' });
    expect(response.headers.get('Idempotent-Replayed')).toBe('true');
  });

  it('treats bodies as the same when they differ in white space, order of names or notation of numbers', async () => {
    const key = freshKey();
    const { id } = await expectEvent(
      await ingest(
        '{"event_type":"booking.created","aggregate_id":"b","aggregate_type":"booking","payload":{"total_amount":10,"x":"é"}}',
        key,
      ),
      202,
    );
    const replay = await ingest(
      ' {"payload" : {"x":"\\u00e9", "total_amount":1.0e1},\n"aggregate_type":"booking","aggregate_id":"b","event_type":"booking.created"} ',
      key,
    );
    expect((await expectEvent(replay, 200)).id).toBe(id);
  });

  it('refuses another body under the key with the paths that differ', async () => {
    const key = freshKey();
    await ingest(bookingCreated({ payload: { guests: 2, note: 'a', items: [{ id: 1 }] } }), key);
    const response = await ingest(
      bookingCreated({ aggregate_id: 'bk_2', payload: { guests: 3, items: [{ id: 2 }] } }),
      key,
    );
    expect(response.headers.get('X-Should-Retry')).toBe('false');
    const error = await expectError(response, 409, 'idempotency_key_in_use');
    expect(error).toMatchObject({ type: 'idempotency_error', code: 'idempotency_key_in_use' });
    expect(error.details?.map(({ path }) => path)).toEqual([
      'aggregate_id',
      'payload.guests',
      'payload.items.0.id',
      'payload.note',
    ]);
  });

  it('names at most 50 differing paths', async () => {
    const key = freshKey();
    const payloadOf = (value: number) =>
      Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, value]));
    await ingest(bookingCreated({ payload: payloadOf(1) }), key);
    const response = await ingest(bookingCreated({ payload: payloadOf(2) }), key);
    expect((await expectError(response, 409, 'idempotency_key_in_use')).details).toHaveLength(50);
  });

  it('shows no value of either body in a 409', async () => {
    const key = freshKey();
    await ingest(bookingCreated({ payload: { secret: 'first-secret' } }), key);
    const response = await ingest(bookingCreated({ payload: { secret: 'second-secret' } }), key);
    await expectStatus(response, 409);
    expect(await response.text()).not.toContain('-secret');
  });

  it('refuses a body that differs only in the case of a UUID, and says so', async () => {
    const lower = bookingCreated({
      payload: { property_id: 'abcdef00-0000-4000-8000-000000000001' },
    });
    const upper = bookingCreated({
      payload: { property_id: 'ABCDEF00-0000-4000-8000-000000000001' },
    });
    const [one, other] = [freshKey(), freshKey()];
    await ingest(lower, one);
    const capitalsNow = await expectError(await ingest(upper, one), 409, 'idempotency_key_in_use');
    expect(capitalsNow.details?.map(({ path }) => path)).toEqual(['payload.property_id']);
    await ingest(upper, other);
    const capitalsThen = await expectError(
      await ingest(lower, other),
      409,
      'idempotency_key_in_use',
    );
    expect(capitalsThen.details).toEqual([{ path: '', message: expect.stringContaining('case') }]);
  });

  it('gives a keyed event the UUID version 5 of its key', async () => {
    const key = ' "Quoted", with SPACES and ünïcödé ';
    const { id } = await expectEvent(await ingest(bookingCreated(), key), 202);
    expect(id).toBe(v5(key.trim(), NAMESPACE));
  });

  it('gives the documented key its documented id', async () => {
    const { id } = await expectEvent(await ingest(bookingCreated(), 'booking-1001-created'), 202);
    expect(id).toBe('6bf0acc7-c31d-50b8-a7c2-7bfcd7964fd4');
  });

  it('accepts a body without a key every time, under random ids', async () => {
    const body = bookingCreated();
    const one = await expectEvent(await ingest(body), 202);
    const other = await expectEvent(await ingest(body), 202);
    expect(one.id).not.toBe(other.id);
    expect(one.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  });

  it('treats keys as different when they differ in case, quotes or inner spaces', async () => {
    const ids = new Set<string>();
    for (const key of ['Opaque', 'opaque', '"opaque"', 'opa que', 'opa  que']) {
      ids.add((await expectEvent(await ingest(bookingCreated(), key), 202)).id);
    }
    expect(ids.size).toBe(5);
  });

  it('leaves the key free when it refuses a request', async () => {
    const key = freshKey();
    const before = await rowCount();
    await expectError(
      await ingest(bookingCreated({ payload: { guests: 0 } }), key),
      400,
      'validation_error',
    );
    await expectError(await ingest('{', key), 400, 'validation_error');
    await expectError(
      await ingest(bookingCreated({ event_type: 'none' }), key),
      400,
      'validation_error',
    );
    expect(await rowCount()).toBe(before);
    await expectEvent(await ingest(bookingCreated(), key), 202);
  });

  it('never stores the key itself', async () => {
    await ingest(bookingCreated(), 'a-very-recognisable-key');
    const { results } = await env.DB.prepare('SELECT * FROM events').all();
    expect(JSON.stringify(results)).not.toContain('a-very-recognisable-key');
    const { keys: cached } = await env.IDEMPOTENCY.list();
    expect(JSON.stringify(cached)).not.toContain('a-very-recognisable-key');
  });

  it('stores unknown fields of the payload as sent', async () => {
    const payload = {
      guests: 1,
      note: 'a\u0000b \u{1F600}',
      nested: { '': [null, true, 1.5] },
      constructor: 'x',
    };
    const { id } = await expectEvent(await ingest(bookingCreated({ payload })), 202);
    const stored = await (await get(`/api/v1/events/${id}`)).json<{ payload: unknown }>();
    expect(stored.payload).toEqual(payload);
  });
});

describe('the schema of a request', () => {
  it.each([
    ['event_type', { event_type: undefined }],
    ['aggregate_id', { aggregate_id: undefined }],
    ['aggregate_type', { aggregate_type: undefined }],
    ['payload', { payload: undefined }],
    ['event_type', { event_type: 'no.such.kind' }],
    ['event_type', { event_type: 7 }],
    ['event_type', { event_type: 'toString' }],
    ['aggregate_id', { aggregate_id: '' }],
    ['aggregate_id', { aggregate_id: 'x'.repeat(256) }],
    ['aggregate_id', { aggregate_id: 'a\u0000b' }],
    ['aggregate_id', { aggregate_id: 12 }],
    ['aggregate_type', { aggregate_type: null }],
    ['payload', { payload: [] }],
    ['payload', { payload: null }],
    ['payload', { payload: 'text' }],
    ['event_id', { event_id: 'x' }],
    ['extra', { extra: 1 }],
    ['payload.property_id', { payload: { property_id: 'x' } }],
    ['payload.check_in', { payload: { check_in: '2027-02-29' } }],
    ['payload.check_in', { payload: { check_in: '2027-02-01T00:00:00Z' } }],
    ['payload.check_out', { payload: { check_in: '2027-06-01', check_out: '2027-06-01' } }],
    ['payload.guests', { payload: { guests: 0 } }],
    ['payload.guests', { payload: { guests: 1.5 } }],
    ['payload.guests', { payload: { guests: '2' } }],
    ['payload.guests', { payload: { guests: null } }],
    ['payload.currency', { payload: { currency: 'eur' } }],
    ['payload.currency', { payload: { currency: 'ZZZ' } }],
    ['payload.total_amount', { payload: { total_amount: -0.01 } }],
    ['payload.guest_email', { payload: { guest_email: 'nobody' } }],
    ['payload.reason', { event_type: 'booking.cancelled', payload: { reason: 'x'.repeat(2001) } }],
    ['aggregate_id', { aggregate_id: '\u{1F600}'.repeat(256) }],
    [
      'payload.cancelled_at',
      { event_type: 'booking.cancelled', payload: { cancelled_at: '2027-01-01T00:00:00' } },
    ],
    ['payload.refund_amount', { event_type: 'booking.cancelled', payload: { refund_amount: -1 } }],
    ['payload.currency', { event_type: 'booking.cancelled', payload: { currency: '' } }],
  ])('refuses an invalid %s and names it (%#)', async (param, fields) => {
    const error = await expectError(await ingest(bookingCreated(fields)), 400, 'validation_error');
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'validation_error', param });
    expect(error.details).toEqual([{ path: param, message: expect.any(String) }]);
  });

  it.each([
    { payload: {} },
    { aggregate_id: 'x'.repeat(255), aggregate_type: '\u{1F600}'.repeat(255) },
    {
      payload: {
        property_id: '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42',
        check_in: '2027-06-01',
        check_out: '2027-06-02',
        guests: 1,
        currency: 'XCG',
        total_amount: 0,
        guest_email: 'a.b+c@example.com',
      },
    },
    {
      event_type: 'booking.cancelled',
      payload: {
        reason: 'x'.repeat(2000),
        cancelled_at: '2027-01-01T00:00:00.123+02:00',
        refund_amount: 0.5,
        currency: 'JPY',
      },
    },
  ])('accepts a valid event (%#)', async (fields) => {
    await expectEvent(await ingest(bookingCreated(fields)), 202);
  });

  it.each([
    "o'brien@example.ie",
    'a/b=c@example.com',
    '#1&%!$*?^`{|}~_-@example.com',
    'guest@example.xn--p1ai',
    'guest@xn--bcher-kva.example.com',
    `guest@${'a'.repeat(63)}.example`,
  ])('accepts %s as an email address', async (guest_email) => {
    await expectEvent(await ingest(bookingCreated({ payload: { guest_email } })), 202);
  });

  it.each([
    '@example.com',
    'guest@',
    'guest@example',
    'guest@example..com',
    '.guest@example.com',
    'guest.@example.com',
    'a..b@example.com',
    'a b@example.com',
    'guest@-example.com',
    'guest@example-.com',
    'guest@192.0.2.1',
    `guest@${'a'.repeat(64)}.example`,
    'guest@example.com\n',
    'a@b@example.com',
  ])('refuses %j as an email address', async (guest_email) => {
    const response = await ingest(bookingCreated({ payload: { guest_email } }));
    const error = await expectError(response, 400, 'validation_error');
    expect(error.param).toBe('payload.guest_email');
  });

  it('lists every problem, the key first', async () => {
    const body = {
      event_type: 'booking.created',
      payload: { guests: 0, check_in: '2027-06-02', check_out: '2027-06-01' },
      more: 1,
    };
    const error = await expectError(await ingest(body, 'k'.repeat(256)), 400, 'validation_error');
    expect(error.param).toBe('Idempotency-Key');
    expect(error.details?.map(({ path }) => path)).toEqual([
      'Idempotency-Key',
      'aggregate_id',
      'aggregate_type',
      'payload.guests',
      'payload.check_out',
      'more',
    ]);
  });

  it('lists the known kinds for an unknown kind, beside the other problems', async () => {
    const error = await expectError(
      await ingest({ event_type: 'x', payload: [] }),
      400,
      'validation_error',
    );
    expect(error.param).toBe('event_type');
    for (const kind of ['booking.created', 'booking.cancelled']) {
      expect(error.details?.[0]?.message).toContain(kind);
    }
    expect(error.details?.map(({ path }) => path)).toEqual([
      'event_type',
      'aggregate_id',
      'aggregate_type',
      'payload',
    ]);
  });

  it('calls each missing field required', async () => {
    const error = await expectError(await ingest({}), 400, 'validation_error');
    expect(error.details).toEqual([
      {
        path: 'event_type',
        message: expect.stringMatching(
          /^is required: one of .*booking\.created.*booking\.cancelled/,
        ),
      },
      { path: 'aggregate_id', message: 'is required' },
      { path: 'aggregate_type', message: 'is required' },
      { path: 'payload', message: 'is required' },
    ]);
  });

  it('points senders of event_id to the header', async () => {
    const error = await expectError(
      await ingest(bookingCreated({ event_id: 'x' })),
      400,
      'validation_error',
    );
    expect(error.message).toContain('Idempotency-Key');
  });

  it('stores UUIDs in lower case', async () => {
    const payload = { property_id: '5F0C2A7E-1F0B-4C67-9A55-3D1F6A1E8B42' };
    const { id } = await expectEvent(await ingest(bookingCreated({ payload })), 202);
    const stored = await (await get(`/api/v1/events/${id.toUpperCase()}`)).json<{
      payload: unknown;
    }>();
    expect(stored.payload).toEqual({ property_id: '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42' });
  });
});

describe('the Idempotency-Key', () => {
  it.each([
    ['empty', ''],
    ['longer than 255 characters', 'k'.repeat(256)],
    ['not UTF-8', 'k\ufffd'],
  ])('is refused when it is %s', async (_, key) => {
    const error = await expectError(await ingest(bookingCreated(), key), 400, 'validation_error');
    expect(error).toMatchObject({ code: 'validation_error', param: 'Idempotency-Key' });
    expect(error.details).toHaveLength(1);
  });

  it('is refused when it is empty, and the message asks for at least one character', async () => {
    const error = await expectError(await ingest(bookingCreated(), ''), 400, 'validation_error');
    expect(error.details?.[0]?.message).toBe('must be at least 1 character long');
  });

  it('may have 255 characters', async () => {
    await expectEvent(await ingest(bookingCreated(), 'k'.repeat(255)), 202);
  });
});

describe('the body of a request', () => {
  const wrapped = (json: string) =>
    `{"event_type":"booking.created","aggregate_id":"b","aggregate_type":"booking","payload":${json}}`;

  it.each([
    ['malformed', '{"event_type":'],
    ['empty', ''],
    ['an array', '[]'],
    ['null', 'null'],
    ['a number', '1'],
    ['hugely nested and broken off', '['.repeat(200_000)],
  ])('is refused as a whole when it is %s', async (_, text) => {
    const error = await expectError(await ingest(text, freshKey()), 400, 'validation_error');
    expect(error.code).toBe('validation_error');
    expect(error).not.toHaveProperty('param');
    expect(error.details).toEqual([{ path: '', message: expect.any(String) }]);
  });

  it('is refused when it is not UTF-8', async () => {
    const bytes = new Uint8Array([...new TextEncoder().encode(wrapped('{"a":"')), 0xff]);
    const response = await send('/api/public/events/ingest', { ...ingestInit(''), body: bytes });
    expect((await expectError(response, 400, 'validation_error')).details).toEqual([
      { path: '', message: expect.stringContaining('UTF-8') },
    ]);
  });

  it.each([
    ['payload.n', '{"n":9007199254740992}'],
    ['payload.n', '{"n":-9007199254740993}'],
    ['payload.n', '{"n":1e400}'],
    ['payload.a.1.n', '{"a":[1,{"n":-1e999}]}'],
    ['payload.__proto__', '{"__proto__":{"x":1}}'],
    ['payload.a.__proto__', '{"a":{"__proto__":null}}'],
    ['payload.s', '{"s":"\\ud800"}'],
    ['payload.\ufffd', '{"\\udc00":1}'],
  ])('is refused with the path %s when its payload is %s', async (param, json) => {
    const error = await expectError(
      await ingest(wrapped(json), freshKey()),
      400,
      'validation_error',
    );
    expect(error).toMatchObject({ code: 'validation_error', param });
  });

  it('is refused with every place that breaks a limit, at most 50', async () => {
    const two = wrapped('{"a":[-1e400,{"__proto__":{"n":1e999}}],"b":"\\udfff"}');
    const { details } = await expectError(await ingest(two, freshKey()), 400, 'validation_error');
    const paths = ['payload.a.0', 'payload.a.1.__proto__', 'payload.b'];
    expect(details?.map(({ path }) => path)).toEqual(paths);
    for (const value of ['1e999', '{"__proto__":1}', '{"\\ud83d":1}']) {
      const many = wrapped(`{"a":[${Array(80).fill(value).join()}]}`);
      const error = await expectError(await ingest(many, freshKey()), 400, 'validation_error');
      expect(error.details).toHaveLength(50);
    }
  });

  it('is refused with the path __proto__ when it has a field of that name', async () => {
    const error = await expectError(await ingest('{"__proto__":{}}'), 400, 'validation_error');
    expect(error.param).toBe('__proto__');
  });

  it('may hold the largest exact integers', async () => {
    await expectEvent(
      await ingest(wrapped('{"n":[9007199254740991,-9007199254740991,1e-400]}')),
      202,
    );
  });

  it('may nest 64 levels, the body being the first', async () => {
    const nested = (levels: number) =>
      wrapped(`{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}`);
    await expectEvent(await ingest(nested(64)), 202);
    const error = await expectError(await ingest(nested(65)), 400, 'validation_error');
    expect(error.param).toBe(`payload.a${'.0'.repeat(62)}`);
  });

  it('may have 256 KiB', async () => {
    const filled = (bytes: number) => {
      const frame = wrapped('{"a":""}').length;
      return wrapped(`{"a":"${'x'.repeat(bytes - frame)}"}`);
    };
    await expectEvent(await ingest(filled(262_144)), 202);
    const error = await expectError(await ingest(filled(262_145)), 413, 'payload_too_large');
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'payload_too_large' });
  });

  it.each([
    [262_144, 202],
    [262_145, 413],
  ])('of %i bytes in chunks gets a %i', async (bytes, status) => {
    const text = wrapped('{}').padEnd(bytes);
    const chunks = [text.slice(0, 100_000), text.slice(100_000)];
    const body = new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(chunk));
      },
    });
    const init = { ...ingestInit(''), body, duplex: 'half' };
    await expectStatus(await send('/api/public/events/ingest', init), status);
  });

  it('without Content-Length is dropped beyond 256 KiB and cut off at 16 MiB', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
    const init = { ...ingestInit(''), body: endless, duplex: 'half' };
    await expectError(await send('/api/public/events/ingest', init), 413, 'payload_too_large');
    expect(sent).toBeLessThan(300);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/problem+json',
    '',
  ])('is refused under the media type %j', async (type) => {
    const init = ingestInit(bookingCreated());
    const headers = { ...init.headers, 'Content-Type': type };
    const error = await expectError(
      await send('/api/public/events/ingest', { ...init, headers }),
      415,
      'unsupported_media_type',
    );
    expect(error).toMatchObject({ type: 'invalid_request_error', code: 'unsupported_media_type' });
  });

  it('is refused without a media type', async () => {
    const { body } = ingestInit(bookingCreated());
    const bytes = new TextEncoder().encode(String(body));
    await expectError(
      await send('/api/public/events/ingest', { method: 'POST', body: bytes }),
      415,
      'unsupported_media_type',
    );
  });

  it('is refused under a content coding', async () => {
    const init = ingestInit(bookingCreated());
    const headers = { ...init.headers, 'Content-Encoding': 'gzip' };
    await expectError(
      await send('/api/public/events/ingest', { ...init, headers }),
      415,
      'unsupported_media_type',
    );
  });

  it('is read under a media type in capitals and with parameters', async () => {
    const init = ingestInit(bookingCreated());
    const headers = { ...init.headers, 'Content-Type': 'Application/JSON; charset=utf-8' };
    await expectEvent(await send('/api/public/events/ingest', { ...init, headers }), 202);
  });
});

describe('the order of checks', () => {
  const big = `{"event_type":"none","fill":"${'x'.repeat(300_000)}"`;

  it.each([
    [
      'credentials before the media type',
      401,
      'authentication_invalid',
      big,
      { 'x-api-key': 'wrong', 'Content-Type': 'text/plain' },
    ],
    [
      'the media type before the size',
      415,
      'unsupported_media_type',
      big,
      { 'Content-Type': 'text/plain' },
    ],
    ['the size before the JSON', 413, 'payload_too_large', big, {}],
    ['the JSON before the key', 400, 'validation_error', '{', { 'Idempotency-Key': '' }],
  ])('is %s', async (_, status, code, body, headers) => {
    const init = ingestInit(body);
    await expectError(
      await send('/api/public/events/ingest', {
        ...init,
        headers: { ...init.headers, ...headers },
      }),
      status,
      code,
    );
  });
});

describe('access', () => {
  it('takes an API key only', async () => {
    const init = ingestInit(bookingCreated());
    const without = await fetchWithout(init, {});
    await expectError(without, 401, 'authentication_required');
    const bearer = await fetchWithout(init, { Authorization: 'Bearer x.y.z' });
    await expectError(bearer, 401, 'authentication_invalid');
  });
});

async function fetchWithout(init: RequestInit, headers: Record<string, string>) {
  const request = new Request('https://api.example.com/api/public/events/ingest', {
    ...init,
    headers: { ...init.headers, ...headers },
  });
  const response = await exports.default.fetch(request);
  await expectDocumented(request, response);
  return response;
}

async function rowCount(): Promise<unknown> {
  return env.DB.prepare('SELECT count(*) FROM events').first('count(*)');
}
