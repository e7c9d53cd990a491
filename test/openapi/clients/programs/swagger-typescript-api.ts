/** swagger-typescript-api, with its client for fetch. */

import { Api } from '../generated/swagger-typescript-api';
import { BOOKING, KEY, ORIGIN, report } from './common';

const { api } = new Api({
  baseUrl: ORIGIN,
  baseApiParams: { headers: { 'x-api-key': KEY } },
});

async function ingest() {
  const headers = { 'Idempotency-Key': 'swagger-typescript-api' };
  return (await api.ingestEvent(BOOKING, { headers })).data;
}

async function main() {
  const list = await api.listProperties({ status: ['sold_out', 'coming_soon'], limit: 100 });
  const item = await api.getProperty('casa-ginebrera');
  const sent = [await ingest(), await ingest()];
  const event = (await api.listEvents({ limit: 1 })).data.data[0];
  const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
  report(list.data.data, item.data, sent, guests);
}

void main();
