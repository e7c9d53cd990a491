/** orval, with its client for fetch. */

import { getProperty, ingestEvent, listEvents, listProperties } from '../generated/orval';
import { BOOKING, KEY, report } from './common';

const options = { headers: { 'x-api-key': KEY } };

async function ingest() {
  const headers = { ...options.headers, 'Idempotency-Key': 'orval' };
  const answer = await ingestEvent(BOOKING, { headers });
  return answer.status === 200 || answer.status === 202 ? answer.data : undefined;
}

async function main() {
  const list = await listProperties({ status: ['sold_out', 'coming_soon'], limit: 100 }, options);
  const item = await getProperty('casa-ginebrera', undefined, options);
  const sent = [await ingest(), await ingest()];
  const events = await listEvents({ limit: 1 }, options);
  const event = events.status === 200 ? events.data.data[0] : undefined;
  const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
  report(
    list.status === 200 ? list.data.data : undefined,
    item.status === 200 ? item.data : undefined,
    sent,
    guests,
  );
}

void main();
