/** openapi-typescript and openapi-fetch. */

import createClient from 'openapi-fetch';
import type { paths } from '../generated/openapi-typescript';
import { BOOKING, KEY, ORIGIN, report } from './common';

const api = createClient<paths>({
  baseUrl: ORIGIN,
  headers: { 'x-api-key': KEY },
  // Lists in a query are comma-separated.
  querySerializer: { array: { style: 'form', explode: false } },
});

async function ingest() {
  const params = { header: { 'Idempotency-Key': 'openapi-fetch' } };
  return (await api.POST('/api/public/events/ingest', { params, body: BOOKING })).data;
}

async function main() {
  const query = { status: ['sold_out' as const, 'coming_soon' as const], limit: 100 };
  const list = await api.GET('/api/v1/web/properties', { params: { query } });
  const path = { slugOrId: 'casa-ginebrera' };
  const item = await api.GET('/api/v1/web/properties/{slugOrId}', { params: { path } });
  const sent = [await ingest(), await ingest()];
  const events = await api.GET('/api/v1/events', { params: { query: { limit: 1 } } });
  const event = events.data?.data[0];
  const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
  report(list.data?.data, item.data, sent, guests);
}

void main();
