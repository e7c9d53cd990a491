/** The service's type for `hc`, Hono's client: each operation with its parameters, body and answers. */

import { env, exports } from 'cloudflare:workers';
import { hc, type InferRequestType, type InferResponseType } from 'hono/client';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Service } from '../../src/app.ts';
import { API_KEY } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const client = hc<Service>('https://api.example.com', {
  headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': '192.0.2.77' },
  fetch: (input: RequestInfo | URL, init?: RequestInit) =>
    exports.default.fetch(new Request(input, init)),
});
const { events } = client.api.v1;
const {
  properties,
  locations,
  'property-cards': cards,
  'property-changes': changes,
} = client.api.v1.web;
const { ingest } = client.api.public.events;
const { health } = client.api;

const BOOKING = {
  event_type: 'booking.created',
  aggregate_id: 'bk_7',
  aggregate_type: 'booking',
  payload: { guests: 2, note: 'kept as sent' },
} as const;

describe('hc<Service>', () => {
  it('reads a page of several statuses, and one listing', async () => {
    await storeListings(env.DB, [
      sourceOf({ slug: 'one', status: 'sold_out' }),
      sourceOf({ slug: 'two', status: 'coming_soon' }),
      sourceOf({ slug: 'three' }),
    ]);
    const query = { status: ['sold_out' as const, 'coming_soon' as const], limit: 5 };
    const response = await properties.$get({ query });
    if (!response.ok) throw new Error(`${response.status}`);
    const page = await response.json();
    const homes = page.data;
    expect(homes.map(({ slug }) => slug).sort()).toEqual(['one', 'two']);
    expectTypeOf(homes).items.toHaveProperty('hero_image').not.toEqualTypeOf<undefined>();
    expectTypeOf(homes).items.toHaveProperty('slug').toEqualTypeOf<string>();
    expectTypeOf(page.next_cursor).toEqualTypeOf<string | null>();

    const item = await properties[':slugOrId'].$get({ query: {}, param: { slugOrId: 'three' } });
    if (item.status !== 200) throw new Error(`${item.status}`);
    expect((await item.json()).status).toBe('listed');
  });

  it('reads a page of cards, whose fields are all there', async () => {
    await storeListings(env.DB, [sourceOf({ slug: 'card', title: { en: 'Card', fr: 'Carte' } })]);
    const response = await cards.$get({ query: { locale: 'fr', limit: 100, fresh: 'true' } });
    if (!response.ok) throw new Error(`${response.status}`);
    const { data } = await response.json();
    expectTypeOf(data).items.toHaveProperty('slug').toEqualTypeOf<string>();
    expect(data.find(({ slug }) => slug === 'card')?.title).toEqual({ fr: 'Carte' });
  });

  it('follows the changes from their beginning, and goes on', async () => {
    const [shown, hidden] = [sourceOf(), sourceOf({ status: 'hidden' })];
    await storeListings(env.DB, [shown, hidden]);
    const first = await changes.$get({ query: { locale: 'en', limit: 100 } });
    if (!first.ok) throw new Error(`${first.status}`);
    const page = await first.json();
    expectTypeOf(page.resume_cursor).toEqualTypeOf<string>();
    const [change] = page.data.filter(({ id }) => id === shown.id);
    if (!change) throw new Error('no change');
    expectTypeOf(change.change).toEqualTypeOf<'published' | 'removed'>();
    expectTypeOf(change.changed_at).toEqualTypeOf<string | null>();
    expectTypeOf(change.property).toExtend<{ id: string; slug: string } | null>();
    expect(change.property).toMatchObject({ object: 'property', slug: shown.slug });

    const next = await changes.$get({ query: { after: page.resume_cursor, locale: 'en' } });
    if (!next.ok) throw new Error(`${next.status}`);
    expect((await next.json()).data).toEqual([]);
  });

  it('pages through the locations', async () => {
    await env.DB.prepare(
      `INSERT INTO locations (id, slug, name) VALUES (?1, 'bay', '{"en":"Bay","fr":"Baie"}'), (?2, null, '{}')`,
    )
      .bind(crypto.randomUUID(), crypto.randomUUID())
      .run();
    const response = await locations.$get({ query: { limit: 1, locale: 'fr' } });
    if (!response.ok) throw new Error(`${response.status}`);
    const page = await response.json();
    expectTypeOf(page.data).items.toHaveProperty('slug').toEqualTypeOf<string | null>();
    expect(page.data.map(({ slug, name }) => [slug, name.fr])).toEqual([['bay', 'Baie']]);
    const rest = await locations.$get({ query: { cursor: page.next_cursor ?? '' } });
    expect(rest.status).toBe(200);
  });

  it('sends an event, retries it, and reads it back by its kind', async () => {
    const request = { json: BOOKING, header: { 'Idempotency-Key': 'hc-1' } };
    const first = await ingest.$post(request);
    const again = await ingest.$post(request);
    expect([first.status, again.status]).toEqual([202, 200]);
    if (!first.ok || !again.ok) throw new Error('refused');
    const { id } = await first.json();
    expect(await again.json()).toMatchObject({ id, status: 'idempotent' });

    const list = await events.$get({ query: { aggregate_id: 'bk_7', order: 'asc' } });
    if (!list.ok) throw new Error(`${list.status}`);
    const [event] = (await list.json()).data;
    if (event?.type !== 'booking.created') throw new Error('another kind');
    expectTypeOf(event.payload.guests).toEqualTypeOf<number | undefined>();
    expect(event.payload).toEqual(BOOKING.payload);

    const one = await events[':id'].$get({ param: { id } });
    expect(one.status).toBe(200);
  });

  it('knows the envelope of an error by its status', async () => {
    const response = await properties.$get({ query: { limit: 101 } });
    expect(response.status).toBe(400);
    if (response.ok || response.status === 304) throw new Error('accepted');
    const { error } = await response.json();
    expect(error.code).toBe('validation_error');
    expectTypeOf(error.code).not.toEqualTypeOf<string>();
  });

  it('reads both health checks', async () => {
    const basic = await health.$get();
    if (!basic.ok) throw new Error(`${basic.status}`);
    expect((await basic.json()).status).toBe('ok');
    const detailed = await health.detailed.$get();
    if (detailed.status !== 200) throw new Error(`${detailed.status}`);
    expect((await detailed.json()).dependencies.database.status).toBe('ok');
  });

  it('refuses to compile what the service would refuse', () => {
    const refused = () => [
      // @ts-expect-error: a kind that the catalogue does not have
      ingest.$post({ json: { ...BOOKING, event_type: 'booking.begun' } }),
      // @ts-expect-error: a field of another type
      ingest.$post({ json: { ...BOOKING, payload: { guests: 'two' } } }),
      // @ts-expect-error: an order that the list does not have
      events.$get({ query: { order: 'newest' } }),
      // @ts-expect-error: a parameter of the path is missing
      events[':id'].$get({}),
      // @ts-expect-error: a kind of home that there is not
      properties.$get({ query: { type: 'lake' } }),
      // @ts-expect-error: a status that cannot be asked for
      properties.$get({ query: { status: 'hidden' } }),
      // @ts-expect-error: a status that cannot be asked for, among others
      properties.$get({ query: { status: ['listed', 'hidden'] } }),
      // @ts-expect-error: a language that there is not
      properties.$get({ query: { locale: 'de' } }),
      // @ts-expect-error: a limit that is no number
      properties.$get({ query: { limit: 'all' } }),
      // @ts-expect-error: a parameter of the other lists
      changes.$get({ query: { cursor: 'x' } }),
      // @ts-expect-error: locations have no fields to choose
      locations.$get({ query: { fields: 'slug' } }),
    ];
    expect(refused).toBeTypeOf('function');
  });

  it('knows every operation of the service', () => {
    // Kinds and filters may be added: an unknown kind and an unknown parameter stay refused.
    type Kind = InferRequestType<typeof ingest.$post>['json']['event_type'];
    expectTypeOf<'booking.created' | 'booking.cancelled'>().toExtend<Kind>();
    expectTypeOf<'no.kind'>().not.toExtend<Kind>();
    type List = InferRequestType<typeof events.$get>['query'];
    expectTypeOf<keyof List>().toEqualTypeOf<
      | 'order'
      | 'limit'
      | 'cursor'
      | 'type'
      | 'aggregate_type'
      | 'aggregate_id'
      | 'created_after'
      | 'created_before'
      | 'after_id'
      | 'id'
      | 'wait'
    >();
    type Properties = InferRequestType<typeof properties.$get>['query'];
    expectTypeOf<
      'type' | 'status' | 'location_id' | 'location' | 'locale' | 'fresh' | 'limit' | 'cursor'
    >().toExtend<keyof Properties>();
    expectTypeOf<'no_parameter'>().not.toExtend<keyof Properties>();
    type Changes = InferRequestType<typeof changes.$get>['query'];
    expectTypeOf<keyof Changes>().toEqualTypeOf<'locale' | 'limit' | 'after' | 'wait'>();
    type Locations = InferRequestType<typeof locations.$get>['query'];
    expectTypeOf<keyof Locations>().toEqualTypeOf<'locale' | 'fresh' | 'limit' | 'cursor'>();
    type Accepted = InferResponseType<typeof ingest.$post, 202>;
    expectTypeOf<Accepted['status']>().toEqualTypeOf<'pending' | 'idempotent'>();
    type Down = InferResponseType<typeof health.detailed.$get, 503>;
    expectTypeOf<Down['status']>().toEqualTypeOf<'down'>();
  });
});
