/** @hey-api/openapi-ts, with its client for fetch. */

import { getProperty, ingestEvent, listEvents, listProperties } from '../generated/hey-api';
import { client } from '../generated/hey-api/client.gen';
import { BOOKING, KEY, ORIGIN, report } from './common';

client.setConfig({ baseUrl: ORIGIN, headers: { 'x-api-key': KEY } });

async function ingest() {
  const headers = { 'Idempotency-Key': 'hey-api' };
  return (await ingestEvent({ body: BOOKING, headers })).data;
}

async function main() {
  const list = await listProperties({
    query: { status: ['sold_out', 'coming_soon'], limit: 100 },
  });
  const item = await getProperty({ path: { slugOrId: 'casa-ginebrera' } });
  const sent = [await ingest(), await ingest()];
  const event = (await listEvents({ query: { limit: 1 } })).data?.data[0];
  const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
  report(list.data?.data, item.data, sent, guests);
}

void main();
