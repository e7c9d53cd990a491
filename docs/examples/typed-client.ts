/** A whole client: reads all pages of the feed, and sends an event until the service has stored it. */

import { setTimeout as pause } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { components, operations, paths } from './api.d.ts';

type Filters = Omit<NonNullable<operations['listProperties']['parameters']['query']>, 'cursor'>;
type Event = components['schemas']['IngestRequest'];

const api = createClient<paths>({
  baseUrl: process.env.API_URL ?? 'http://localhost:3001',
  headers: { 'x-api-key': process.env.API_KEY ?? '' },
  // Lists in a query are comma-separated: status=listed,coming_soon
  querySerializer: { array: { style: 'form', explode: false } },
});

/** Every listing that the filters let through, page after page. */
async function* allProperties(filters: Filters = {}) {
  let cursor: string | null = null;
  do {
    const query: Filters & { cursor?: string } = { ...filters, ...(cursor !== null && { cursor }) };
    const { data, error } = await api.GET('/api/v1/web/properties', { params: { query } });
    if (!data) throw new Error(`${error.error.code}: ${error.error.message}`);
    yield* data.data;
    cursor = data.next_cursor;
  } while (cursor !== null);
}

/** Sends an event until the service has stored it. The key names the event, so it is stored once. */
async function ingest(body: Event, key: string, attempts = 5) {
  for (let attempt = 1; ; attempt += 1) {
    const params = { header: { 'Idempotency-Key': key } };
    const request = api.POST('/api/public/events/ingest', { params, body });
    // No answer: the event may be stored or not. The next attempt settles it.
    const answer = await request.catch(() => undefined);
    if (answer?.data) return answer.data;
    const canHelp = answer?.response.headers.get('X-Should-Retry') !== 'false';
    if (!canHelp || attempt === attempts) {
      throw new Error(answer?.error ? answer.error.error.message : 'the service does not answer');
    }
    const seconds = Number(answer?.response.headers.get('Retry-After') ?? 2 ** attempt / 4);
    await pause(seconds * 1_000 * (1 + Math.random() / 10));
  }
}

for await (const listing of allProperties({ status: ['listed', 'coming_soon'], limit: 20 })) {
  console.log(listing.status, listing.slug, listing.title.en ?? listing.name);
}

const event = await ingest(
  {
    event_type: 'booking.created',
    aggregate_id: 'bk_1001',
    aggregate_type: 'booking',
    payload: { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, currency: 'EUR' },
  },
  'bk_1001-created',
);
console.log(event.status, event.id);
