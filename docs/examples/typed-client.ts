/**
 * A complete typed client. It reads all pages of the feed, and sends an event until the service has
 * stored it.
 */

import createClient from 'openapi-fetch';
import type { operations, paths } from './api.d.ts';
import { call } from './call.ts';

type Filters = Omit<NonNullable<operations['listProperties']['parameters']['query']>, 'cursor'>;

const api = createClient<paths>({
  baseUrl: process.env.API_URL ?? 'http://localhost:3001',
  // Lists in a query are separated by commas, as in status=listed,coming_soon.
  querySerializer: { array: { style: 'form', explode: false } },
  // call.ts adds the key and the content type, and retries.
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    const { method } = request;
    const { 'content-type': _, ...headers } = Object.fromEntries(request.headers);
    const body = method === 'GET' ? null : await request.text();
    return call(pathname + search, { method, headers, body });
  },
});

/** Yields every listing that matches the filters. */
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

for await (const listing of allProperties({ status: ['listed', 'coming_soon'], limit: 20 })) {
  console.log(listing.status, listing.slug, listing.title.en ?? listing.name);
}

// The key identifies the event, so that the service stores it only once.
const { data, error } = await api.POST('/api/public/events/ingest', {
  params: { header: { 'Idempotency-Key': 'bk_1001-created' } },
  body: {
    event_type: 'booking.created',
    aggregate_id: 'bk_1001',
    aggregate_type: 'booking',
    payload: { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, currency: 'EUR' },
  },
});
if (!data) throw new Error(`${error.error.code}: ${error.error.message}`);
console.log(data.status, data.id);
