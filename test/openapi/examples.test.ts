/** The examples of the document are answers of the service. */

import { env, exports } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import samples from '../../tools/samples/listings.json';
import { failingD1, KV_FAULTS, meddledKv } from '../support/faults.ts';
import { expectStatus, get, send, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';
import { storeListings } from '../support/listings.ts';
import { sampleSources } from '../support/samples.ts';
import { createProvider } from '../support/tokens.ts';

const media = z.object({
  examples: z.record(z.string(), z.object({ summary: z.string(), value: z.unknown() })),
});
const content = z.object({ 'application/json': media });
const operation = z.object({
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ content: content.optional() })),
});
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(createOpenApiDocument());

const FEED = '/api/v1/web/properties';
const CARDS = '/api/v1/web/property-cards';
const CHANGES = '/api/v1/web/property-changes';
const LOCATIONS = '/api/v1/web/locations';
const EVENTS = '/api/v1/events';
const INGEST = '/api/public/events/ingest';
const SARDINIA = 'e16037e3-44f6-4e6b-8589-6880896284e3';

/** The examples that a test has asked for. */
const compared = new Set<string>();

function answer(path: string, method: string, status: number, name: string): unknown {
  compared.add(`${method} ${path} ${status} ${name}`);
  return paths[path]?.[method]?.responses[status]?.content?.['application/json'].examples[name]
    ?.value;
}

/** A booking with this payload. */
function post(payload: object, key?: string): RequestInit {
  const body = {
    event_type: 'booking.created',
    aggregate_id: 'a',
    aggregate_type: 'booking',
    payload,
  };
  const headers = { 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) };
  return { method: 'POST', headers, body: JSON.stringify(body) };
}

function ingest(name: string, key: string): Promise<Response> {
  const examples = paths[INGEST]?.post?.requestBody?.content['application/json'].examples;
  return send(INGEST, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
    body: JSON.stringify(examples?.[name]?.value),
  });
}

beforeAll(async () => {
  // The cursors of the examples carry this generation.
  const generation = '0f4c1d9a6b7e4c2f8a35d1e07b92c648';
  await env.DB.prepare('UPDATE database_identity SET generation = ?').bind(generation).run();
  await storeListings(env.DB, sampleSources());
  const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
  await env.DB.batch(
    samples.locations.map(({ id, slug, name }) => insert.bind(id, slug, JSON.stringify(name))),
  );
});

describe('the examples', () => {
  it('show a listing as the feed gives it', async () => {
    const response = await get(`${FEED}/sa-domu-rubia`);
    await expectStatus(response, 200);
    expect(answer(`${FEED}/{slugOrId}`, 'get', 200, 'property')).toEqual(await response.json());
  });

  it('show a page as the feed gives it, its cursor included', async () => {
    const query = `location_id=${SARDINIA}&limit=1`;
    const first = await (await get(`${FEED}?${query}`)).json<{ next_cursor: string }>();
    const second = await get(`${FEED}?${query}&cursor=${first.next_cursor}`);
    await expectStatus(second, 200);
    expect(answer(FEED, 'get', 200, 'page')).toEqual(await second.json());
  });

  it('show a page of cards as the feed gives it, its cursor included', async () => {
    const query = 'location=sardinia&limit=1&locale=en';
    const first = await (await get(`${CARDS}?${query}`)).json<{ next_cursor: string }>();
    const second = await get(`${CARDS}?${query}&cursor=${first.next_cursor}`);
    await expectStatus(second, 200);
    expect(answer(CARDS, 'get', 200, 'page')).toEqual(await second.json());
  });

  it('show the last page of cards as the feed gives it', async () => {
    const last = await get(`${CARDS}?location=sardinia&type=ski`);
    await expectStatus(last, 200);
    expect(answer(CARDS, 'get', 200, 'last_page')).toEqual(await last.json());
  });

  it('show the last page as the feed gives it', async () => {
    const last = await get(`${FEED}?location_id=${SARDINIA}&type=ski`);
    await expectStatus(last, 200);
    expect(answer(FEED, 'get', 200, 'last_page')).toEqual(await last.json());
  });

  it('show the locations as the service gives them', async () => {
    const response = await get(`${LOCATIONS}?limit=2&locale=en`);
    await expectStatus(response, 200);
    expect(answer(LOCATIONS, 'get', 200, 'page')).toEqual(await response.json());
  });

  it('show the last page of locations as the service gives it', async () => {
    type Page = { next_cursor: string | null };
    let page: Page = { next_cursor: '' };
    while (page.next_cursor !== null) {
      const cursor = page.next_cursor && `&cursor=${page.next_cursor}`;
      const response = await get(`${LOCATIONS}?limit=2&locale=en${cursor}`);
      await expectStatus(response, 200);
      page = await response.json<Page>();
    }
    expect(answer(LOCATIONS, 'get', 200, 'last_page')).toEqual(page);
  });

  const anonymous = { 'x-api-key': '' };
  it.each<[number, string, string, string, RequestInit]>([
    [400, 'validation_error', FEED, `${FEED}?limit=101`, {}],
    [400, 'invalid_cursor', FEED, `${FEED}?cursor=x`, {}],
    [401, 'authentication_invalid', FEED, FEED, { headers: anonymous }],
    [400, 'validation_error', CARDS, `${CARDS}?location=sardinia&location_id=${SARDINIA}`, {}],
    [400, 'invalid_cursor', CARDS, `${CARDS}?cursor=x`, {}],
    [401, 'authentication_invalid', CARDS, CARDS, { headers: anonymous }],
    [400, 'validation_error', `${FEED}/{slugOrId}`, `${FEED}/no-such-home?locale=de`, {}],
    [404, 'resource_missing', `${FEED}/{slugOrId}`, `${FEED}/no-such-home`, {}],
    [400, 'validation_error', CHANGES, `${CHANGES}?limit=101`, {}],
    [400, 'invalid_cursor', CHANGES, `${CHANGES}?after=x`, {}],
    [401, 'authentication_invalid', CHANGES, CHANGES, { headers: anonymous }],
    [400, 'validation_error', LOCATIONS, `${LOCATIONS}?limit=101`, {}],
    [400, 'invalid_cursor', LOCATIONS, `${LOCATIONS}?cursor=x`, {}],
    [401, 'authentication_invalid', LOCATIONS, LOCATIONS, { headers: anonymous }],
    [400, 'validation_error', EVENTS, `${EVENTS}?after_id=${SARDINIA}`, {}],
    [400, 'invalid_cursor', EVENTS, `${EVENTS}?cursor=x`, {}],
    [401, 'authentication_invalid', EVENTS, EVENTS, { headers: anonymous }],
    [404, 'resource_missing', `${EVENTS}/{id}`, `${EVENTS}/no-such-event`, {}],
    [
      400,
      'validation_error',
      INGEST,
      INGEST,
      post({ check_in: '2027-06-08', check_out: '2027-06-01' }),
    ],
    [413, 'payload_too_large', INGEST, INGEST, post({ text: 'x'.repeat(262_144) })],
    [415, 'unsupported_media_type', INGEST, INGEST, { method: 'POST', body: '{}' }],
  ])('show %i %s of %s as the service answers it', async (status, code, path, url, init) => {
    const method = init.method?.toLowerCase() ?? 'get';
    const response = await send(url, init);
    await expectStatus(response, status);
    const shown = withoutIds(answer(path, method, status, code));
    expect(shown).toEqual(withoutIds(await response.json()));
  });

  it.each([FEED, CARDS, CHANGES, LOCATIONS, EVENTS])(
    'show how %s asks for credentials',
    async (path) => {
      const request = new Request(`https://api.example.com${path}`);
      const response = await exports.default.fetch(request);
      await expectStatus(response, 401);
      const shown = withoutIds(answer(path, 'get', 401, 'authentication_required'));
      expect(shown).toEqual(withoutIds(await response.json()));
    },
  );

  it('show how a valid key or token is refused that does not open the operation', async () => {
    const [site, booking] = [
      await namedKey('site', ['feed:read']),
      await namedKey('booking-system', ['events:write']),
    ];
    const provider = await createProvider();
    const vars = { ...provider.vars, API_KEYS: [site.entry, booking.entry] };
    const Authorization = `Bearer ${await provider.sign({ permissions: [] })}`;
    const withToken = { 'x-api-key': '', Authorization };
    for (const [path, name, headers] of [
      [FEED, 'permission_denied', withToken],
      [FEED, 'permission_denied_2', { 'x-api-key': booking.key }],
      [EVENTS, 'permission_denied', { 'x-api-key': site.key }],
    ] as const) {
      const response = await sendWith(vars, path, { headers });
      await expectStatus(response, 403);
      const shown = withoutIds(answer(path, 'get', 403, name));
      expect(shown).toEqual(withoutIds(await response.json()));
    }
  });

  it('show how a key that holds another body is refused', async () => {
    await send(INGEST, post({ guests: 2 }, 'a-key'));
    const response = await send(INGEST, post({ guests: 3 }, 'a-key'));
    await expectStatus(response, 409);
    const shown = withoutIds(answer(INGEST, 'post', 409, 'idempotency_key_in_use'));
    expect(shown).toEqual(withoutIds(await response.json()));
  });

  it('show an event as it is accepted, repeated and read back', async () => {
    const key = 'bk_1001-created';
    const accepted = await ingest('created', key);
    await expectStatus(accepted, 202);
    expect(withoutIds(answer(INGEST, 'post', 202, 'accepted'))).toEqual(
      withoutIds(await accepted.json()),
    );
    const repeated = await ingest('created', key);
    await expectStatus(repeated, 200);
    expect(withoutIds(answer(INGEST, 'post', 200, 'repeat'))).toEqual(
      withoutIds(await repeated.clone().json()),
    );
    // As if the booking system had sent its own key.
    await env.DB.exec("UPDATE events SET received_from = 'booking-system'");
    const list = await get('/api/v1/events?aggregate_id=bk_1001');
    expect(withoutIds(answer('/api/v1/events', 'get', 200, 'last_page'))).toEqual(
      withoutIds(await list.json()),
    );
    const { id } = await repeated.clone().json<{ id: string }>();
    const one = await get(`${EVENTS}/${id}`);
    expect(withoutIds(answer(`${EVENTS}/{id}`, 'get', 200, 'event'))).toEqual(
      withoutIds(await one.json()),
    );
    await expectStatus(await ingest('cancelled', 'bk_1001-cancelled'), 202);
  });

  it('show a batch as it is answered', async () => {
    await env.DB.prepare('DELETE FROM events').run();
    const batch = `${INGEST}/batch`;
    const examples = paths[batch]?.post?.requestBody?.content['application/json'].examples;
    const sent = z
      .object({ events: z.array(z.looseObject({ idempotency_key: z.string() })) })
      .parse(examples?.outbox?.value);
    const [first] = sent.events;
    const init = (events: object[]) => ({
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ events }),
    });
    await send(batch, init([first ?? {}]));
    const response = await send(batch, init(sent.events));
    await expectStatus(response, 200);
    const results = await response.json<{ data: { event: { created_at: string } }[] }>();
    for (const { event } of results.data) event.created_at = '2027-01-15T09:30:00.000Z';
    expect(answer(batch, 'post', 200, 'results')).toEqual(results);
    expect(answer(batch, 'post', 400, 'validation_error')).toMatchObject({
      error: { param: 'events.1.idempotency_key' },
    });
    expect(answer(batch, 'post', 413, 'payload_too_large')).toMatchObject({
      error: { message: 'The body may have at most 1048576 bytes.' },
    });
    expect(answer(batch, 'post', 415, 'unsupported_media_type')).toBeDefined();
  });

  it('show a page of events whose cursor leads on', async () => {
    const page = z
      .object({ data: z.array(z.unknown()).length(1), next_cursor: z.string() })
      .parse(answer('/api/v1/events', 'get', 200, 'page'));
    const next = await get(`/api/v1/events?order=asc&limit=1&cursor=${page.next_cursor}`);
    await expectStatus(next, 200);
    expect(page.data).toEqual(
      z.object({ data: z.unknown() }).parse(answer('/api/v1/events', 'get', 200, 'last_page')).data,
    );
  });
});

describe('the example of the list of changes', () => {
  it('is what a reader gets after a listing was changed and another hidden', async () => {
    await env.DB.prepare('UPDATE database_identity SET generation = ?')
      .bind('5d1f0c2a9b7e4c6d8a3b1f0e2d4c6b8a')
      .run();
    await env.DB.prepare('UPDATE properties SET change_seq = NULL').run();
    const all = await (await get(`${CHANGES}?limit=100`)).json<{ resume_cursor: string }>();
    const at = Date.parse('2027-01-15T09:30:00.000Z');
    await env.DB.prepare(
      `UPDATE properties SET change_seq = iif(slug = 'sa-domu-rubia', 1, 2), changed_at = ?,
         status = iif(slug = 'sa-domu-rubia', 'listed', 'hidden'), removed_slug = slug,
         former_slugs = iif(slug = 'sa-domu-rubia', '["casa-rossa"]', '[]')
       WHERE slug IN ('sa-domu-rubia', 'casa-ginebrera')`,
    )
      .bind(at)
      .run();
    const query = `locale=en&after=${all.resume_cursor}`;
    const response = await get(`${CHANGES}?${query}`);
    await expectStatus(response, 200);
    expect(answer(CHANGES, 'get', 200, 'page')).toEqual(await response.json());
    const first = await get(`${CHANGES}?${query}&limit=1`);
    await expectStatus(first, 200);
    expect(answer(CHANGES, 'get', 200, 'more')).toEqual(await first.json());
  });
});

describe('the examples of health', () => {
  /** The parts that two answers share: all but the times and the version that runs. */
  const withoutTimes = (value: unknown) =>
    JSON.parse(
      JSON.stringify(withoutIds(value), (key, each: unknown) =>
        key === 'latency_ms' || key === 'deployment' ? undefined : each,
      ),
    );
  const failing = meddledKv(env.IDEMPOTENCY, KV_FAULTS['fails on read']);

  it.each([
    ['/api/health', 200, 'ok', {}],
    ['/api/health/detailed', 200, 'ok', {}],
    ['/api/health/detailed', 200, 'degraded', { IDEMPOTENCY: failing }],
    [
      '/api/health/detailed',
      503,
      'service_unavailable',
      { DB: failingD1(env.DB, { when: 'before commit' }) },
    ],
  ])('show %s as it is: %i %s', async (path, status, name, bindings) => {
    const response = await sendWith({ ...env, ...bindings }, path, {}, createApp());
    await expectStatus(response, status);
    expect(withoutTimes(answer(path, 'get', status, name))).toEqual(
      withoutTimes(await response.json()),
    );
  });
});

describe('the examples of success', () => {
  it('are all compared with an answer', () => {
    const told = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.entries(responses).flatMap(([status, { content }]) =>
          Object.keys(content?.['application/json'].examples ?? {})
            .filter(() => status.startsWith('2'))
            .map((name) => `${method} ${path} ${status} ${name}`),
        ),
      ),
    );
    expect(told.filter((example) => !compared.has(example))).toEqual([]);
  });
});

/** The parts that two answers to one request share: all but when they were made, and under which request id. */
function withoutIds(value: unknown): unknown {
  const differing = new Set(['request_id', 'timestamp', 'created_at']);
  return JSON.parse(
    JSON.stringify(value, (key, each: unknown) => (differing.has(key) ? undefined : each)),
  );
}
