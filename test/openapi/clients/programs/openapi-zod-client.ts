/** openapi-zod-client, with zodios and axios. */

import { createApiClient } from '../generated/openapi-zod-client';
import { BOOKING, KEY, ORIGIN, report } from './common';

const api = createApiClient(ORIGIN, {
  axiosConfig: {
    headers: { 'x-api-key': KEY },
    // axios would write `status[]=sold_out`, which the service refuses.
    paramsSerializer: { indexes: null },
  },
});

async function ingest() {
  return api.ingestEvent(BOOKING, { headers: { 'Idempotency-Key': 'openapi-zod-client' } });
}

async function main() {
  const list = await api.listProperties({
    queries: { status: ['sold_out', 'coming_soon'], limit: 100 },
  });
  const item = await api.getProperty({ params: { slugOrId: 'casa-ginebrera' } });
  const sent = [await ingest(), await ingest()];
  const event = (await api.listEvents({ queries: { limit: 1 } })).data[0];
  const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
  report(list.data, item, sent, guests);
}

void main();
